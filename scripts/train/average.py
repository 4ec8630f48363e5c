#!/usr/bin/env python3
"""Averages checkpoints of one architecture, weight by weight: a "soup" generalises better than each of its parts.

Usage: average.py OUT_DIR DIR=WEIGHT DIR=WEIGHT ...
Needs: pip install -r scripts/train/requirements.txt

The weights are brought to a sum of 1. All but the weights (config.json, tokenizer.json) is copied from the last DIR.
The idea: Wortsman et al., "Model soups" (ICML 2022) and "Robust fine-tuning of zero-shot models" (CVPR 2022).
"""
import argparse, shutil
from pathlib import Path

from safetensors.torch import load_file, save_file

# Not part of the sentence vector; some checkpoints have them and some have not.
UNUSED = ("pooler.", "embeddings.position_ids")


def tensors(folder):
    named = load_file(folder / "model.safetensors")
    named = {name.removeprefix("bert."): tensor for name, tensor in named.items()}
    return {name: tensor.float() for name, tensor in named.items() if not name.startswith(UNUSED)}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("out", type=Path)
    p.add_argument("parts", nargs="+", metavar="DIR=WEIGHT")
    a = p.parse_args()
    parts = [(Path(folder), float(weight)) for folder, weight in (part.rsplit("=", 1) for part in a.parts)]
    total, mean = sum(weight for _, weight in parts), {}
    for folder, weight in parts:
        found = tensors(folder)
        if mean and found.keys() != mean.keys():
            raise SystemExit(f"{folder} has other tensors than the checkpoints before it: {sorted(found.keys() ^ mean.keys())[:5]}")
        for name, tensor in found.items():
            mean[name] = mean.get(name, 0) + weight / total * tensor
    a.out.mkdir(parents=True, exist_ok=True)
    last = parts[-1][0]
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(last / name, a.out / name)
    save_file({name: tensor.contiguous() for name, tensor in mean.items()}, a.out / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main()
