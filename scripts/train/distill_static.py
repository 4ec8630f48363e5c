#!/usr/bin/env python3
"""Makes toolroute's static model: a vector a token, distilled from an encoder.

Usage: distill_static.py ENCODER_DIR DATA_DIR OUT_DIR [--prompts DIR] [--steps N] [--cache DIR] [--goldens FILE [--shipped]]
Needs: pip install -r scripts/train/requirements.txt

ENCODER_DIR is a sentence-transformers folder or a transformers checkpoint of the BERT family whose tokenizer is
BERT's uncased WordPiece (config.json, tokenizer.json, model.safetensors); DATA_DIR holds the tool-retrieval sets.
Only tools and prompts that SETS and CATALOGS of train_encoder.py name are read, and `queries.jsonl` of no set that quality is judged
with, but to score (the choice sets of crates/eval/src/sets.txt). `--prompts` is the folder of prompts written for training (scripts/train/prompts).

How it works: the encoder's vector of each single token, brought to 256 numbers by PCA and weighted by how rare the
token is, is where the table starts. A text's vector is the sum of its tokens' vectors, at unit length. Then the table
is trained: the similarity of two texts should be what the encoder gives them (texts of tools and prompts, whose
encoder vectors are kept in --cache), and a prompt should be nearer to its tool than to the others of its catalog.

OUT_DIR gets what ships: static.int8.safetensors, uncased-vocab.txt, config.json and manifest.toml with hashes; and
nothing else. Scores of the rounded table go to stderr and to --log. Same input, same seed, same machine: same bytes.
"""
import argparse, hashlib, json, math, random, sys, time
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save
from tokenizers import Tokenizer
from transformers import AutoModel

from train_encoder import CATALOGS, SETS, ndcg5, read_orders, read_prompts, rows, self_pair, tool_text

# Which prompts of which set, and its share of the steps: the sets of the encoder's training, and no catalog that is measured.
SHARES = {"bfcl": 0.14, "apibench": 0.03, "toolalpaca": 0.05, "nestful": 0.04, "apibank": 0.04}
PROMPTS_SHARE, SELF_SHARE = 0.40, 0.30  # the latter: parts of a tool's text that belong together


def choice_sets():
    """The sets that settings are compared by; crates/eval/src/sets.txt says why."""
    lines = (Path(__file__).resolve().parents[2] / "crates" / "eval" / "src" / "sets.txt").read_text(encoding="utf-8").splitlines()
    return tuple(next(line for line in lines if line.startswith("choice: ")).split()[1:])


class Words:
    """The tokenizer and its vocabulary."""

    def __init__(self, folder):
        self.tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.vocabulary = [token for _, token in sorted((i, token) for token, i in self.tokenizer.get_vocab().items())]

    def ids(self, texts, longest=512):
        encoded = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [e.ids[:longest] for e in encoded]


class Teacher:
    def __init__(self, folder, cache):
        self.folder, self.cache, self.model = Path(folder), cache, None
        self.name = hashlib.sha256((self.folder / "model.safetensors").read_bytes()).hexdigest()[:16]
        self.tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        self.tokenizer.no_padding()

    def vectors(self, label, sequences):
        """Unit vectors [n, d] of sequences of ids, special ones included; kept on disk under their hash."""
        key = hashlib.sha256(repr(sequences).encode()).hexdigest()[:16]
        path = self.cache / f"{self.name}-{label}-{key}.npy" if self.cache else None
        if path and path.exists():
            return torch.from_numpy(numpy.load(path).astype(numpy.float32))
        self.model = self.model or AutoModel.from_pretrained(self.folder, attn_implementation="sdpa").eval()
        out = torch.empty(len(sequences), self.model.config.hidden_size)
        order = sorted(range(len(sequences)), key=lambda i: len(sequences[i]))
        start = time.time()
        with torch.inference_mode():
            for at in range(0, len(order), 64):
                part = order[at : at + 64]
                width = max(len(sequences[i]) for i in part)
                batch = torch.tensor([sequences[i] + [0] * (width - len(sequences[i])) for i in part])
                mask = torch.tensor([[1] * len(sequences[i]) + [0] * (width - len(sequences[i])) for i in part])
                hidden = self.model(input_ids=batch, attention_mask=mask).last_hidden_state
                weight = mask.unsqueeze(-1).float()
                out[part] = F.normalize((hidden * weight).sum(1) / weight.sum(1), dim=1)
                if at % 6400 == 0:
                    say(f"{label}: {at}/{len(order)}, {time.time() - start:.0f} s")
        if path:
            self.cache.mkdir(parents=True, exist_ok=True)
            numpy.save(path, out.numpy().astype(numpy.float16))
            return torch.from_numpy(numpy.load(path).astype(numpy.float32))
        return out

    def texts(self, label, texts, longest):
        self.tokenizer.enable_truncation(longest)
        return self.vectors(label, [e.ids for e in self.tokenizer.encode_batch_fast(list(texts))])

    def tokens(self, ids):
        first, last = (self.tokenizer.token_to_id(t) for t in ("[CLS]", "[SEP]"))
        return self.vectors("tokens", [[first, i, last] for i in ids])


def say(text):
    print(text, file=sys.stderr, flush=True)


class Student(torch.nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = torch.nn.EmbeddingBag.from_pretrained(table.clone(), freeze=False, mode="sum", sparse=True)

    def forward(self, ids):
        flat = torch.tensor([i for one in ids for i in one] or [0])
        starts = torch.tensor(numpy.cumsum([0] + [len(one) for one in ids[:-1]]))
        return F.normalize(self.table(flat, starts), dim=1, eps=1e-6)

    def all(self, ids):
        with torch.no_grad():
            return torch.cat([self(ids[at : at + 2048]) for at in range(0, len(ids), 2048)])


def first_table(teacher, words, corpus, dims, smoothing):
    vectors = teacher.tokens(range(len(words.vocabulary)))
    seen = torch.zeros(len(words.vocabulary))
    for ids in corpus:
        seen[ids] += 1.0  # documents that hold the token
    centred = vectors - vectors.mean(0)
    weight = (seen + 1).unsqueeze(1)
    # Where texts are, not where rare tokens are: tokens count in the PCA as often as they are used.
    values, axes = torch.linalg.eigh((centred * weight.sqrt()).T @ (centred * weight.sqrt()))
    axes = axes[:, values.argsort(descending=True)[:dims]]
    share = seen / seen.sum()
    return F.normalize(centred @ axes, dim=1) * (smoothing / (smoothing + share)).unsqueeze(1), axes


class Source:
    """Tools and prompts of one catalog, as ids."""

    def __init__(self, name, share, tools, prompts, words):
        self.name, self.share = name, share
        at = {tool["id"]: i for i, tool in enumerate(tools)}
        pairs = [(p["query"], [at[g] for g in p["gold"] if g in at]) for p in prompts]
        pairs = [(query, gold) for query, gold in pairs if gold]
        self.texts = [tool_text(t) for t in tools]
        self.tools, self.prompts = words.ids(self.texts), words.ids([query for query, _ in pairs])
        self.golds, self.queries = [gold for _, gold in pairs], [query for query, _ in pairs]
        say(f"{name}: {len(tools)} tools, {len(pairs)} prompts")

    def refresh(self, student):
        self.bank = student.all(self.tools)


def contrastive(source, student, a, rng):
    """Softmax of each prompt over right tools, hard wrong ones and some others of the catalog."""
    picked = rng.sample(range(len(source.prompts)), min(a.batch, len(source.prompts)))
    query = student([drop(source.prompts[p], rng, a.drop) for p in picked])
    golds = [source.golds[p] for p in picked]
    with torch.no_grad():
        stale = query @ source.bank.T
        for row, gold in enumerate(golds):
            stale[row, gold] = -2
        hard = stale.topk(min(6, stale.shape[1])).indices.tolist()
    right = [rng.choice(gold) for gold in golds]
    others = [rng.choice(h) for h in hard] + rng.sample(range(len(source.tools)), min(256, len(source.tools)))
    columns = list(dict.fromkeys(right + others))
    place = {tool: j for j, tool in enumerate(columns)}
    logits = query @ student([drop(source.tools[c], rng, a.drop) for c in columns]).T / a.temperature
    hide = torch.zeros_like(logits, dtype=torch.bool)
    for row, gold in enumerate(golds):
        hide[row, [place[g] for g in gold if g in place and g != right[row]]] = True
    target = torch.tensor([place[r] for r in right])
    return F.cross_entropy(logits.masked_fill(hide, -1e4), target)


def drop(ids, rng, share):
    """Some tokens left out, so that no single one carries a text."""
    kept = [i for i in ids if rng.random() >= share]
    return kept or ids[:1]


def self_supervised(tools, student, words, a, rng):
    left, right = zip(*(self_pair(t, rng) for t in rng.sample(tools, a.batch)))
    logits = student(words.ids(left)) @ student(words.ids(right)).T / a.temperature
    target = torch.arange(a.batch)
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


def distil(ids, wanted, student, axes, a, rng):
    """The encoder's similarities within a batch, and its directions as far as 256 numbers hold them."""
    picked = rng.sample(range(len(ids)), a.batch)
    ours, theirs = student([ids[p] for p in picked]), wanted[picked]
    similar = F.mse_loss(ours @ ours.T, theirs @ theirs.T)
    direct = 1 - (ours * F.normalize(theirs @ axes, dim=1)).sum(1).mean()
    return 20 * similar + a.direct * direct


class Scored:
    """Sets to score with, never trained on."""

    def __init__(self, data, words):
        self.sets = {}
        for name in choice_sets():
            tools = rows(data / name / "tools.jsonl")
            at = {t["id"]: i for i, t in enumerate(tools)}
            prompts = [p for p in rows(data / name / "queries.jsonl") if any(g in at for g in p["gold"])]
            golds = [{at[g] for g in p["gold"] if g in at} for p in prompts]
            self.sets[name] = words.ids([tool_text(t) for t in tools]), words.ids([p["query"] for p in prompts]), golds

    def score(self, student):
        scores = {n: round(ndcg5(student.all(q) @ student.all(d).T, g), 4) for n, (d, q, g) in self.sets.items()}
        return {**scores, "mean": round(sum(scores.values()) / len(scores), 4)}


def rounded(table):
    """int8 numbers and a scale a row, as `QuantizedWeight` in crates/vectors/src/embedding/kernels/product_i8.rs."""
    scale = table.abs().amax(1) / 127
    scale[scale == 0] = 1
    return (table / scale.unsqueeze(1)).round().to(torch.int8), scale


def ship(table, words, a):
    a.out.mkdir(parents=True, exist_ok=True)
    numbers, scales = rounded(table)
    about = {"format": "toolroute-static-1"}
    config = {"model_type": "toolroute-static", "hidden_size": table.shape[1], "vocab_size": len(words.vocabulary),
              "max_position_embeddings": 512}
    files = {
        "config.json": (json.dumps(config, indent=2) + "\n").encode(),
        "uncased-vocab.txt": ("\n".join(words.vocabulary) + "\n").encode(),
        "static.int8.safetensors": save({"tokens.weight": numbers, "tokens.scale": scales}, about),
    }
    lines = [f'name = "{a.name}"', f'description = "{a.description}"', f'licence = "{a.licence}"']
    for name, content in files.items():
        (a.out / name).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        lines += ["", "[[files]]", f'path = "{name}"', f"bytes = {len(content)}", f'sha256 = "{digest}"']
    (a.out / "manifest.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    say(f"{a.out}: {sum(len(content) for content in files.values())} bytes")


# With accents, signs, other scripts and nothing: what a second program gets wrong first.
GOLDEN = ["What is the weather in Haifa?", "rename a file", "Reads a file from disk. Parameters: path, max bytes", "",
          "crème brûlée — 天気, don't [SEP] e-mail!", "https://example.org/a_b?c=1 " * 20, "antidisestablishmentarianism"]


def goldens(student, words, path):
    """What the program must give for a few texts, for tests/it/built_in.rs."""
    empty = words.vocabulary.index("[CLS]")
    vectors = student.all([ids or [empty] for ids in words.ids(GOLDEN)]).tolist()
    with open(path, "w", encoding="utf-8") as out:
        for text, vector in zip(GOLDEN, vectors):
            row = {"text": text, "embedding": [round(x, 6) for x in vector]}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def load(a, words, rng):
    merged = rows(a.data / "_merged" / "tools.jsonl")
    catalog = [t for t in merged if t["id"].startswith(CATALOGS)]
    sources = [Source(name, share, rows(a.data / name / "tools.jsonl"), rows(a.data / name / f"{SETS[name][0]}.jsonl"), words)
               for name, share in SHARES.items()]
    if a.prompts:
        orders, _, own = read_orders(a.prompts)
        prompts = read_prompts(a.prompts) + [order for order in orders if order["gold"]]
        wanted = {g for p in prompts for g in p["gold"]}
        near = [t for t in catalog + own if t["id"] in wanted]
        far = rng.sample([t for t in catalog if t["id"] not in wanted], 4000)
        sources.append(Source("prompts", PROMPTS_SHARE, near + far, prompts, words))
    return catalog, sources


def teaching(catalog, sources, teacher, words, a, rng):
    """Texts with the encoder's vectors: prompts, and tools of all catalogs."""
    prompts = [query for s in sources for query in rng.sample(s.queries, min(len(s.queries), a.teach_prompts))]
    texts = [tool_text(t) for t in rng.sample(catalog, min(len(catalog), a.teach_tools))]
    wanted = torch.cat([teacher.texts("prompts", prompts, 48), teacher.texts("tools", texts, a.teach_tokens)])
    # What the encoder did not see, the static vector must not see either.
    return words.ids(prompts, 46) + words.ids(texts, a.teach_tokens - 2), wanted


def train(student, catalog, sources, taught, axes, dev, a, rng):
    ids, wanted = taught
    catalog = [t for t in catalog if len(t["description"]) > 25]
    optimiser = torch.optim.SparseAdam(student.parameters(), lr=a.rate)
    weights, losses, start = [s.share for s in sources] + [a.self_share], {}, time.time()
    for step in range(1, a.steps + 1):
        if (step - 1) % 150 == 0:
            for source in sources:
                source.refresh(student)
        for group in optimiser.param_groups:
            group["lr"] = a.rate * min(1, step / 50) * (0.02 + 0.98 * (1 - step / a.steps))
        k = rng.choices(range(len(weights)), weights)[0]
        if k == len(sources):
            loss, name = self_supervised(catalog, student, a.words, a, rng), "self"
        else:
            loss, name = contrastive(sources[k], student, a, rng), sources[k].name
        losses.setdefault(name, []).append(loss.item())
        taught_loss = distil(ids, wanted, student, axes, a, rng)
        losses.setdefault("encoder", []).append(taught_loss.item())
        optimiser.zero_grad()
        (loss + a.teach * taught_loss).backward()
        optimiser.step()
        if step % a.validate_every == 0 or step == a.steps:
            means = {n: round(sum(v[-40:]) / len(v[-40:]), 3) for n, v in sorted(losses.items())}
            row = {"step": step, "seconds": round(time.time() - start), "loss": means, **dev.score(student)}
            note(a, row)


def note(a, row):
    say(json.dumps(row))
    if a.log:
        with open(a.log, "a", encoding="utf-8") as log:
            log.write(json.dumps(row) + "\n")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("encoder", type=Path)
    p.add_argument("data", type=Path)
    p.add_argument("out", type=Path)
    p.add_argument("--prompts", type=Path)
    p.add_argument("--cache", type=Path, help="keeps the encoder's vectors from run to run")
    p.add_argument("--log", type=Path)
    p.add_argument("--goldens", type=Path, help="vectors of a few texts, for a test of the program")
    p.add_argument("--shipped", action="store_true", help="train nothing: write --goldens of the table in OUT_DIR")
    p.add_argument("--dims", type=int, default=256)
    p.add_argument("--steps", type=int, default=2000)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--rate", type=float, default=0.002)
    p.add_argument("--temperature", type=float, default=0.05)
    p.add_argument("--drop", type=float, default=0.1)
    p.add_argument("--smoothing", type=float, default=1e-3)
    p.add_argument("--teach", type=float, default=1.0, help="weight of the encoder's similarities")
    p.add_argument("--direct", type=float, default=0.5, help="weight of its directions beside them")
    p.add_argument("--self-share", type=float, default=SELF_SHARE)
    p.add_argument("--teach-tools", type=int, default=9000)
    p.add_argument("--teach-prompts", type=int, default=2500, help="a source")
    p.add_argument("--teach-tokens", type=int, default=64)
    p.add_argument("--validate-every", type=int, default=250)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--name", default="static")
    p.add_argument("--description", default="A vector a token, distilled from toolroute-l6-v1: English, 256 dimensions")
    p.add_argument("--licence", default="Apache-2.0")
    a = p.parse_args()
    torch.manual_seed(a.seed)
    torch.set_num_threads(a.threads)
    torch.use_deterministic_algorithms(True)
    rng = random.Random(a.seed)
    a.words = words = Words(a.encoder)
    if a.shipped:
        tensors = load_file(a.out / "static.int8.safetensors")
        table = tensors["tokens.weight"].float() * tensors["tokens.scale"].unsqueeze(1)
        return goldens(Student(table), words, a.goldens)
    teacher, dev = Teacher(a.encoder, a.cache), Scored(a.data, words)
    catalog, sources = load(a, words, rng)
    taught = teaching(catalog, sources, teacher, words, a, rng)
    corpus = [sorted(set(ids)) for source in sources for ids in source.tools + source.prompts] + \
             [sorted(set(ids)) for ids in words.ids(tool_text(t) for t in catalog)]
    table, axes = first_table(teacher, words, corpus, a.dims, a.smoothing)
    student = Student(table)
    settings = {k: v for k, v in vars(a).items() if isinstance(v, (int, float))}
    note(a, {"step": 0, "settings": settings, **dev.score(student)})
    train(student, catalog, sources, taught, axes, dev, a, rng)
    table = student.table.weight.detach()
    numbers, scales = rounded(table)
    student.table.weight.data = numbers.float() * scales.unsqueeze(1)
    note(a, {"step": "rounded", **dev.score(student)})
    ship(table, words, a)
    if a.goldens:
        goldens(student, words, a.goldens)


if __name__ == "__main__":
    main()
