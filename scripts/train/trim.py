#!/usr/bin/env python3
"""Leaves out of a checkpoint what no text reaches: tokens of scripts that the encoder does not read, and late positions.

Usage: trim.py FROM_DIR OUT_DIR [--max-tokens 256]
Needs: pip install -r scripts/train/requirements.txt

FROM_DIR is a checkpoint of the BERT family with an uncased WordPiece tokenizer (config.json, tokenizer.json,
model.safetensors). Left out are `[unusedN]`, which stand in BERT's vocabulary as reserve, and tokens with a letter of
another script than Latin or Greek: BERT's English vocabulary has single letters of these, whose vectors say nothing.
toolroute translates such words before it embeds a text; one that it cannot translate becomes `[UNK]`. Positions from
--max-tokens on are left out too, because longer texts are cut there.
"""
import argparse, json, re, unicodedata
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

SCRIPTS = ("LATIN", "GREEK")  # Greek letters are read as symbols: µ, π, Δ
WORDS, POSITIONS = "embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"


def is_read(token):
    if re.fullmatch(r"\[unused\d+\]", token):
        return False
    # NFKD: µ is a Greek letter, ª and ʰ are Latin ones.
    letters = (c for c in unicodedata.normalize("NFKD", token) if not c.isascii() and unicodedata.category(c)[0] in "LM")
    return all(unicodedata.name(c, "").startswith(SCRIPTS) for c in letters)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("checkpoint", type=Path)
    p.add_argument("out", type=Path)
    p.add_argument("--max-tokens", type=int, default=256)
    a = p.parse_args()
    tokenizer = json.loads((a.checkpoint / "tokenizer.json").read_text(encoding="utf-8"))
    tokens = sorted(tokenizer["model"]["vocab"].items(), key=lambda entry: entry[1])
    kept = [(token, number) for token, number in tokens if is_read(token)]
    places = {token: place for place, (token, _) in enumerate(kept)}
    tokenizer["model"]["vocab"] = places
    for added in tokenizer["added_tokens"]:
        added["id"] = places[added["content"]]
    for name, special in tokenizer.get("post_processor", {}).get("special_tokens", {}).items():
        special["ids"] = [places[name]]
    config = json.loads((a.checkpoint / "config.json").read_text(encoding="utf-8"))
    named = load_file(a.checkpoint / "model.safetensors")
    rows = {WORDS: torch.tensor([number for _, number in kept]), POSITIONS: torch.arange(a.max_tokens)}
    for name, tensor in named.items():
        for end in rows:
            if name.endswith(end):
                named[name] = tensor[rows[end]].contiguous()
    config |= {"vocab_size": len(kept), "max_position_embeddings": a.max_tokens, "pad_token_id": places["[PAD]"]}
    a.out.mkdir(parents=True, exist_ok=True)
    (a.out / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
    (a.out / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    save_file(named, a.out / "model.safetensors", metadata={"format": "pt"})
    print(f"{len(kept)} of {len(tokens)} tokens are kept")


if __name__ == "__main__":
    main()
