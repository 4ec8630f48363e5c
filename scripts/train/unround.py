#!/usr/bin/env python3
"""Makes a checkpoint of a rounded model that ships, so that training can go on from a clone of this repository.

Usage: unround.py MODEL_DIR OUT_DIR          (e.g. models/toolroute-l6-v1)
Needs: pip install -r scripts/train/requirements.txt

OUT_DIR gets config.json, model.safetensors (f32, names as `transformers` has them) and a tokenizer: what train_encoder.py
and average.py take. What rounding took away does not come back: the vectors are those of the rounded weights,
run in f32.
"""
import argparse, shutil
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file
from safetensors.torch import save_file
from transformers import AutoConfig, BertTokenizerFast

# Rows in one panel of a packed weight, and inputs in one group: crates/vectors/src/embedding/kernels/packed.rs.
PANEL, GROUP = 32, 4


def linear(tensors, name):
    """Weight [outputs, inputs] and bias [outputs] of a packed linear layer."""
    packed, scale = tensors[f"{name}.packed"], tensors[f"{name}.scale"]
    panels, groups, panel, group = packed.shape
    if (panel, group) != (PANEL, GROUP):
        raise SystemExit(f"{name} is packed by {panel} and {group}, expected {PANEL} and {GROUP}")
    weight = packed.transpose(0, 2, 1, 3).reshape(panels * panel, groups * group)[: len(scale)].astype(np.float32)
    weight = weight * scale[:, None] / tensors[f"{name}.input_scale"][None, :]
    return weight, tensors[f"{name}.bias"]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("model", type=Path)
    p.add_argument("out", type=Path)
    a = p.parse_args()
    config = AutoConfig.from_pretrained(a.model)
    tensors, hidden = load_file(a.model / "model.int8.safetensors"), config.hidden_size
    named = {"embeddings.word_embeddings.weight": tensors["words.weight"].astype(np.float32) * tensors["words.scale"][:, None],
             # The positions have the first token type's vector in them.
             "embeddings.position_embeddings.weight": tensors["positions"].reshape(-1, hidden),
             "embeddings.token_type_embeddings.weight": np.zeros((config.type_vocab_size, hidden), np.float32)}

    def norm(to, name):
        named[f"{to}.weight"], named[f"{to}.bias"] = tensors[f"{name}.gain"], tensors[f"{name}.shift"]

    def dense(to, weight, bias):
        named[f"{to}.weight"], named[f"{to}.bias"] = weight, bias

    norm("embeddings.LayerNorm", "norm")
    for at in range(config.num_hidden_layers):
        to, name = f"encoder.layer.{at}", f"layer.{at}"
        weight, bias = linear(tensors, f"{name}.qkv")
        parts = list(zip(np.split(weight, 3), np.split(bias, 3)))
        root = np.float32((hidden // config.num_attention_heads) ** 0.5)  # the attention's 1/√d is in the rounded queries
        dense(f"{to}.attention.self.query", *(part * root for part in parts[0]))
        dense(f"{to}.attention.self.key", *parts[1])
        dense(f"{to}.attention.self.value", *parts[2])
        dense(f"{to}.attention.output.dense", *linear(tensors, f"{name}.out"))
        norm(f"{to}.attention.output.LayerNorm", f"{name}.attention_norm")
        dense(f"{to}.intermediate.dense", *linear(tensors, f"{name}.up"))
        dense(f"{to}.output.dense", *linear(tensors, f"{name}.down"))
        norm(f"{to}.output.LayerNorm", f"{name}.output_norm")
    a.out.mkdir(parents=True, exist_ok=True)
    save_file({name: torch.from_numpy(np.ascontiguousarray(tensor, np.float32)) for name, tensor in named.items()},
              a.out / "model.safetensors", metadata={"format": "pt"})
    shutil.copyfile(a.model / "config.json", a.out / "config.json")
    tokens = (a.model / "uncased-vocab.txt").read_text(encoding="utf-8").splitlines()
    BertTokenizerFast(vocab={token: at for at, token in enumerate(tokens)}, do_lower_case=True).save_pretrained(a.out)


if __name__ == "__main__":
    main()
