#!/usr/bin/env python3
"""Teaches an encoder the tools of a catalog by heart: metatool's, of which there are thousands of prompts to train with.

Usage: learn_tools.py INIT_DIR DATA_DIR OUT_DIR --keyword PROGRAM --prompts DIR [--steps N]
Needs: pip install -r scripts/train/requirements.txt

The descriptions of metatool's 199 tools are advertisements that say little of what people ask of them; what they are asked for
stands in the training half of its prompts. So first each tool gets the unit vector that answers the training half best: a softmax
regression on the vectors of the prompts and of pairs of them, of the blend with BM25 (PROGRAM is a built `toolroute` and gives its scores).
Then the encoder is trained until it makes these vectors of the tools' texts and leaves the vectors of all other texts where they
are: prompts of metatool, written prompts (`--prompts`), tools of the public catalogs. What that costs is printed as "kept": the mean
cosine between the vectors before and after of such texts as were not trained on.

The weights are written to OUT_DIR, a line of scores for each validation to OUT_DIR/log.jsonl.
"""
import argparse, json, math, random, time
from pathlib import Path

import torch
import torch.nn.functional as F

import train_encoder as base

# Of the softmax regression. The temperature is higher than in training: a sharp one takes the tools' vectors so far towards
# their own prompts that prompts for two tools lose them (0.05 gives 0.01 more on prompts for one, 0.05 less on those for two).
# Prompts for two tools beside the others hold that up: 0.01 to 0.02 more on those for two, nothing on the others.
TEMPERATURE, BLENDED_SHARE, EPOCHS, RATE, JOINED = 0.08, 0.7, 5, 0.01, 8_000
# What leaving the vector that a tool has costs: half the way gives the same answers.
STAY = 0.3
# How many texts stay where they are, and how many of these are only looked at.
KEPT, HELD_OUT = 12_000, 500
# Texts a step: tools to learn, others to keep; and what leaving costs beside not reaching.
LEARNED_BATCH, KEPT_BATCH, KEEP = 40, 80, 6.0
PROMPT_TOKENS = 96


def fitted(base_vectors, prompts, words, golds, seed):
    """A unit vector for each tool, [tools, d]: a softmax regression on the prompts' vectors [prompts, d] and BM25 [prompts, tools]."""
    torch.manual_seed(seed)
    right = torch.zeros_like(words)
    for row, gold in enumerate(golds):
        right[row, gold] = 1 / len(gold)
    vectors = base_vectors.clone().requires_grad_(True)
    optimiser = torch.optim.Adam([vectors], lr=RATE)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(prompts)).split(256):
            unit = F.normalize(vectors, dim=1)
            scores = prompts[rows] @ unit.T
            if torch.rand(()) < BLENDED_SHARE:
                scores = scores + words[rows]
            loss = F.cross_entropy(scores / TEMPERATURE, right[rows])
            loss = loss + STAY * (1 - (unit * base_vectors).sum(1)).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        for group in optimiser.param_groups:
            group["lr"] *= 0.6
    return F.normalize(vectors.detach(), dim=1)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("init")
    p.add_argument("data", type=Path)
    p.add_argument("out", type=Path)
    p.add_argument("--keyword", required=True, help="a built `toolroute`")
    p.add_argument("--prompts", required=True)
    p.add_argument("--steps", type=int, default=300)
    p.add_argument("--rate", type=float, default=8e-5)
    p.add_argument("--validate-every", type=int, default=50)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    rng = random.Random(a.seed)
    a.out.mkdir(parents=True, exist_ok=True)
    encoder, validation = base.Encoder(a.init), base.Validation(a.data)

    folder = a.data / "metatool"
    asked = base.rows(folder / "train_queries.jsonl")
    source = base.Source("metatool", 1, base.rows(folder / "tools.jsonl"), asked, encoder)
    source.ask_keyword(a.keyword)
    queries = [query for query, _ in source.prompts]
    asked = [(query, gold, [query]) for query, gold in source.prompts]
    pairs = (rng.sample(asked, 2) for _ in range(JOINED))
    asked = asked + [base.joined(a, b, rng) for a, b in pairs if a[1] != b[1]]
    prompts = encoder.all([text for text, _, _ in asked], PROMPT_TOKENS)
    words = source.keyword_scores([parts for _, _, parts in asked])
    goals = fitted(source.base, prompts, words, [gold for _, gold, _ in asked], a.seed)
    texts = [base.tool_text(t) for t in source.tools]
    print(f"the vectors to reach are {(goals * source.base).sum(1).mean():.3f} from those that are", flush=True)

    catalog = [t for t in base.rows(a.data / "_merged" / "tools.jsonl") if t["id"].startswith(base.CATALOGS)]
    others = [base.varied(t, rng) for t in rng.sample(catalog, KEPT // 2)]
    others += rng.sample([row["query"] for row in base.read_prompts(a.prompts)], KEPT // 4)
    others += rng.sample(queries, KEPT // 4)
    rng.shuffle(others)
    places = encoder.all(others, base.TOOL_TOKENS)

    trained = [q for q in encoder.model.parameters() if q.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=a.rate, weight_decay=0.0)
    rate = lambda step: min(1, (step + 1) / 20) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / a.steps)))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, rate)
    log, start, losses = open(a.out / "log.jsonl", "a", encoding="utf-8"), time.time(), []

    def off(texts, places, length):
        return 1 - (encoder(texts, length) * places).sum(1)

    def validate(step):
        with torch.no_grad():
            learned = 1 - off(texts, goals, base.TOOL_TOKENS).mean().item()
            kept = 1 - off(others[:HELD_OUT], places[:HELD_OUT], base.TOOL_TOKENS).mean().item()
        row = {"step": step, "seconds": round(time.time() - start), "learned": round(learned, 4), "kept": round(kept, 4),
               **validation.score(encoder, encoder.model)}
        print(json.dumps(row), flush=True)
        log.write(json.dumps(row) + "\n")
        log.flush()
        encoder.model.save_pretrained(a.out)
        encoder.tokenizer.save_pretrained(a.out)

    validate(0)
    for step in range(1, a.steps + 1):
        some = rng.sample(range(len(texts)), LEARNED_BATCH)
        stay = rng.sample(range(HELD_OUT, len(others)), KEPT_BATCH)
        loss = off([texts[i] for i in some], goals[some], base.TOOL_TOKENS).mean()
        loss = loss + KEEP * off([others[i] for i in stay], places[stay], base.TOOL_TOKENS).mean()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
        if step % 25 == 0:
            passed = time.time() - start
            print(f"step {step}/{a.steps}, loss {sum(losses[-25:]) / 25:.4f}, {passed / step * (a.steps - step):.0f} s to go", flush=True)
        if step % a.validate_every == 0 or step == a.steps:
            validate(step)


if __name__ == "__main__":
    main()
