#!/usr/bin/env python3
"""Trains toolroute's encoder: MiniLM, fine-tuned contrastively for tool retrieval.

Usage: train_encoder.py INIT_DIR DATA_DIR OUT_DIR --steps N [--prompts DIR] [--share NAME=X ...]
Needs: pip install -r scripts/train/requirements.txt

INIT_DIR is a sentence-transformers folder of the BERT family (config.json, tokenizer.json,
model.safetensors), DATA_DIR holds the tool-retrieval sets. Only sets whose licence allows it are read, and of the
sets that quality is measured with, never `queries.jsonl` (see SETS below). `--prompts` is the folder of
prompts that were written for training (scripts/train/prompts): `written_NN.jsonl` and, over the groups of tools in
`groups_NN.jsonl`, `orders_NN.jsonl`; `tools_NN.jsonl` has tools that were written for this, too, or that large_apis.py
makes from public packages.

How a step works: one source is drawn; its prompts are encoded; for each the hardest wrong tools are taken
from a bank of that source's tool vectors (kept from earlier steps, refreshed now and then); right and hard
wrong tools are encoded with gradients; the loss is a softmax of each prompt over the fresh tools of the batch and all
stale ones of the bank. A wrong tool that scores nearly as well as a right one, or whose text is nearly the right
one's, is likely right too and is left out. With `--absolute W`, W times a second loss makes the cosines of different
prompts comparable (`absolute`); *near* orders, which no tool of their group carries out, count in it alone.

A run goes on where it stopped: the same command reads OUT_DIR/state.pt. It uses an accelerator where torch finds one.

The averaged weights (EMA) are written to OUT_DIR, a line of scores for each validation to OUT_DIR/log.jsonl.

With `--keyword PROGRAM` (a built `toolroute`) the loss is of the blend that ships: each prompt's BM25 scores, which
the program gives, stand beside the cosines as 30 to 70, so that the encoder learns what words do not tell (the idea
is that of Gao et al., "Complement Lexical Retrieval Model with Semantic Residual Embeddings", ECIR 2021).
"""
import argparse, copy, json, math, random, re, subprocess, tempfile, time
from pathlib import Path

import torch
import torch.nn.functional as F
from transformers import AutoModel, AutoTokenizer

# Which prompts of which set, and its share of the steps. No set whose score is a choice or a check (docs/quality.md): a
# catalog that is measured must not be known by heart.
SETS = {
    "bfcl": ("queries", 0.10),
    "apibench": ("queries", 0.04),
    "toolalpaca": ("queries", 0.04),
    "nestful": ("queries", 0.03),
    "apibank": ("queries", 0.03),
}
FAMILIES = Path(__file__).resolve().parents[2] / "tests" / "data" / "families"
CATALOGS = ("toucan_catalog", "toolsdk_catalog", "docker_catalog", "apizoo_catalog")
PROMPTS_SHARE, ORDERS_SHARE, SELF_SHARE = 0.55, 0.20, 0.20
# Scored while training, never trained on: (set, how many prompts).
VALIDATION = {"azure_mcp_2026": 250, "stabletoolbench": 250, "bfcl_live": 250, "toolret_apibank": 101}
TEMPERATURE = 0.05
# What BM25 counts for beside a cosine: 30/70 over 21. KEYWORD_SCALE of crates/rank/src/selection/fusion.rs is higher, for scores by rarity.
KEYWORD_WEIGHT = 0.3 / 0.7 / 21
# The share of the steps whose loss is that of the blend; the others train the encoder by itself.
BLENDED_SHARE = 0.7
# Cosine of two tools (by the weights that training starts from) above which they are taken for one tool on two
# servers, and what a wrong tool may score above the right one before it is taken for right as well.
ALIKE, NEARLY = 0.82, 0.02
# The orders of a step that are drawn from one group.
OF_GROUP = 6
# Cosine of two tools below which they are about different things.
APART = 0.7
# Cosine that separates a tool that fits from one that does not, the steepness of that border, how many wrong tools of a
# prompt are counted (most of a batch is far from it), and the near prompts of a step.
BORDER, SHARPNESS, COUNTED, NEAR_PROMPTS = 0.45, 15.0, 8, 10
# Share of common letter triples above which two descriptions are taken for one tool's (SkillRouter, arXiv 2603.22455).
SAME_TRIGRAMS = 0.6
# As in crates/catalog/src/text.rs; and the tokens of a tool that are read while training, for time.
MEANING_CHARS, EMBEDDED_VALUES, TOOL_TOKENS = 50, 4, 96


def rows(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def split(identifier):
    """As `split_identifier` in crates/catalog/src/text.rs."""
    return re.sub(r"[_\-/.:]+", " ", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", identifier))


def continues(before, after):
    """As `continues` in crates/catalog/src/text.rs."""
    last = re.search(r"[^\W_.]*(?:\.[^\W_.]*)*$", before).group()
    is_abbreviation = last.count(".") > 1 and all(re.fullmatch("[a-zA-Z]", part) for part in last.rstrip(".").split("."))
    return is_abbreviation or after.lstrip()[:1].islower()


def meaning(text):
    """As `first_sentence` in crates/catalog/src/text.rs."""
    text = text.strip()
    ends = (m.start() for m in re.finditer(r"(?<=[.!?])(?=\s)|\n", text))
    sentence = next((text[:end] for end in ends if text[end] == "\n" or not continues(text[:end], text[end:])), text)
    if len(sentence) > MEANING_CHARS:
        sentence = sentence[:MEANING_CHARS]
        sentence = sentence[: sentence.rfind(" ")] if " " in sentence else sentence
    return sentence.rstrip()


def told(name, about):
    """A parameter's name with what it means, as `told_parameters` in crates/catalog/src/text.rs."""
    text, about = split(name), about if isinstance(about, dict) else {}
    means, values = about.get("description"), about.get("enum")
    means = meaning(means) if isinstance(means, str) else ""
    values = [v for v in values if isinstance(v, str)][:EMBEDDED_VALUES] if isinstance(values, list) else []
    return text + (": " + means if means else "") + (" (" + ", ".join(values) + ")" if values else "")


def tool_text(tool, server=True, name=True, parameters="told", description=None):
    """As `embedding_text` in crates/catalog/src/text.rs; `parameters` are "told", by their "names" alone or None."""
    text = ""
    if server and tool.get("server"):
        text = split(tool["server"]) + ": "
    if name:
        text += split(tool["name"]) + ". "
    text += tool["description"] if description is None else description
    properties = (tool.get("input_schema") or {}).get("properties")
    properties = list(properties.items())[:12] if isinstance(properties, dict) else []
    if parameters and properties:
        names = [told(*p) if parameters == "told" else split(p[0]) for p in properties]
        is_bare = not any(mark in name for name in names for mark in ":(")
        text += " Parameters: " + (", " if is_bare else "; ").join(names)
    return text[:1000]


def sentences(text):
    return [s for s in re.split(r"(?<=[.!?])\s+|\n+", text) if s.strip()]


def varied(tool, rng):
    """A tool's text as some other catalog would have it: without name, server or parameters, cut short, re-ordered."""
    r = rng.random()
    parts = sentences(tool["description"])
    if r < 0.45 or not parts:
        return tool_text(tool)
    if r < 0.60:
        return tool_text(tool, server=False)
    if r < 0.70:
        return tool_text(tool, server=rng.random() < 0.5, name=False, parameters=None)
    if r < 0.80:
        return tool_text(tool, server=rng.random() < 0.5, description=parts[0])
    if r < 0.90:
        return tool_text(tool, server=rng.random() < 0.5, parameters=rng.choice(["names", None]))
    shuffled = parts[:]
    rng.shuffle(shuffled)
    return tool_text(tool, server=rng.random() < 0.5, description=" ".join(shuffled))


OPENERS = ["please ", "can you ", "hi, ", "I need to ", "help me: ", "could you please ", "hey "]


def varied_prompt(prompt, rng):
    r = rng.random()
    if r < 0.06:
        return rng.choice(OPENERS) + prompt[:1].lower() + prompt[1:]
    if r < 0.10:
        return prompt.rstrip(".?! ")
    return prompt


def self_pair(tool, rng):
    """Name against description, first sentence against the rest, or a later one against name and first."""
    parts, r, name = sentences(tool["description"]), rng.random(), split(tool["name"])
    if r < 0.4 or len(parts) < 2:
        server = " " + split(tool.get("server") or "") if rng.random() < 0.3 else ""
        return name + server, tool["description"][:400]
    if r < 0.7:
        return parts[0], (name + ". " + " ".join(parts[1:]))[:400]
    return rng.choice(parts[1:]), name + ". " + parts[0]


class Encoder:
    def __init__(self, folder, device="cpu", bf16=False):
        self.device, self.bf16 = device, bf16
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder, attn_implementation="sdpa")
        self.model.to(device)
        self.model.eval()  # without dropout: half as fast again, and the batches differ enough
        for parameter in self.model.embeddings.parameters():
            parameter.requires_grad = False

    def __call__(self, texts, length, model=None):
        """Unit vectors [n, d]. Texts of like length share a padded group: padding is most of a batch's cost."""
        model = model or self.model
        ids = self.tokenizer(list(texts), truncation=True, max_length=length)["input_ids"]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        vectors = [None] * len(ids)
        group = max(8, math.ceil(len(ids) / 6))
        for start in range(0, len(order), group):
            part = order[start : start + group]
            width = max(len(ids[i]) for i in part)
            batch = torch.zeros(len(part), width, dtype=torch.long)
            mask = torch.zeros(len(part), width, dtype=torch.long)
            for row, i in enumerate(part):
                batch[row, : len(ids[i])] = torch.tensor(ids[i])
                mask[row, : len(ids[i])] = 1
            batch, mask = batch.to(self.device), mask.to(self.device)
            with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.bf16):
                hidden = model(input_ids=batch, attention_mask=mask).last_hidden_state
            hidden = hidden.float()
            weight = mask.unsqueeze(-1).float()
            pooled = F.normalize((hidden * weight).sum(1) / weight.sum(1), dim=1)
            for row, i in enumerate(part):
                vectors[i] = pooled[row]
        return torch.stack(vectors).cpu()

    def all(self, texts, length, model=None):
        with torch.inference_mode():
            by_length = sorted(range(len(texts)), key=lambda i: len(texts[i]))
            out = torch.empty(len(texts), self.model.config.hidden_size)
            for start in range(0, len(texts), 64):
                part = by_length[start : start + 64]
                out[part] = self([texts[i] for i in part], length, model)
        return out.clone()


class Source:
    """Tools, prompts and a bank of the tools' vectors."""

    def __init__(self, name, share, tools, prompts, encoder, groups=()):
        self.name, self.share, self.tools = name, share, tools
        at = {tool["id"]: i for i, tool in enumerate(tools)}
        served = [(p, [at[g] for g in p["gold"] if g in at]) for p in prompts]
        self.prompts = [(p["query"], gold) for p, gold in served if gold]
        self.by_group = {}
        for p, gold in served:
            if gold and "group" in p:
                self.by_group.setdefault(p["group"], []).append((p["query"], gold))
        # Orders that no tool of a group carries out, with the tools of that group.
        self.near = [(p["query"], [at[w] for w in p.get("wrong", []) if w in at]) for p in prompts]
        self.near = [(query, wrong) for query, wrong in self.near if wrong]
        self.keyword = {}
        self.base = encoder.all([tool_text(t) for t in tools], TOOL_TOKENS)
        self.bank = self.base.clone()
        self.servers = {}
        for i, tool in enumerate(tools):
            self.servers.setdefault(tool.get("server"), []).append(i)
        self.names = [split(tool["name"]).lower() for tool in tools]
        # For each tool of a group of orders, the tools of that group.
        self.groups = {}
        for group in groups:
            members = [at[tool] for tool in group if tool in at]
            for member in members:
                self.groups.setdefault(member, set()).update(members)
        self.trigrams = {}
        print(f"{name}: {len(tools)} tools, {len(self.prompts)} prompts, {len(self.near)} near", flush=True)

    def draw(self, size, rng):
        """Prompts for a step. Of a group of orders several are drawn: each one's tool is a wrong one of the others."""
        if not self.by_group:
            return rng.sample(self.prompts, min(size, len(self.prompts)))
        drawn, names = [], list(self.by_group)
        counts = [len(orders) for orders in self.by_group.values()]
        while len(drawn) < size:
            orders = self.by_group[rng.choices(names, counts)[0]]
            drawn += rng.sample(orders, min(OF_GROUP, len(orders), size - len(drawn)))
        return drawn

    def ask_keyword(self, program):
        """BM25 of each prompt's best tools, as `{prompt: (rows, scores)}`."""
        at = {tool["id"]: i for i, tool in enumerate(self.tools)}
        with tempfile.TemporaryDirectory() as folder:
            tools, asked, told = (Path(folder) / name for name in ("tools.jsonl", "asked.jsonl", "told.jsonl"))
            tools.write_text("".join(json.dumps(t) + "\n" for t in self.tools), encoding="utf-8")
            rows_of = [{"id": str(i), "query": query} for i, (query, _) in enumerate(self.prompts)]
            asked.write_text("".join(json.dumps(r) + "\n" for r in rows_of), encoding="utf-8")
            subprocess.run([program, "batch", "--tools", tools, "-s", "keyword", "--limit", "200", "--input", asked,
                            "--output", told, "-q"], check=True, stdout=subprocess.DEVNULL)
            for (query, _), row in zip(self.prompts, rows(told)):
                found = [(at[t["id"]], t["score"]) for t in row["tools"] if t["id"] in at]
                self.keyword[query] = (torch.tensor([r for r, _ in found], dtype=torch.long),
                                       torch.tensor([score for _, score in found], dtype=torch.float))

    def keyword_scores(self, queries):
        """BM25 over the bank, [prompts, tools]; a joined prompt has the sum of its parts."""
        scores = torch.zeros(len(queries), len(self.tools))
        for row, parts in enumerate(queries):
            for query in parts:
                at, score = self.keyword[query]
                scores[row, at] += score
        return scores * KEYWORD_WEIGHT

    def trigrams_of(self, tool):
        if tool not in self.trigrams:
            text = self.tools[tool]["description"].lower()
            self.trigrams[tool] = {text[i : i + 3] for i in range(len(text) - 2)}
        return self.trigrams[tool]

    def is_same(self, a, b):
        """Whether two tools have one name, unless an author told them apart, or descriptions that hardly differ: then both are right."""
        if self.names[a] == self.names[b] and b not in self.groups.get(a, ()):
            return True
        left, right = self.trigrams_of(a), self.trigrams_of(b)
        both = len(left & right)
        return both > SAME_TRIGRAMS * (len(left) + len(right) - both)

    def refresh(self, encoder):
        self.bank = encoder.all([tool_text(t) for t in self.tools], TOOL_TOKENS)


def joined(a, b, rng):
    """One prompt for two needs, of two rows of text, right tools and the prompts that it is made of."""
    return a[0].rstrip() + rng.choice([" ", " And ", " Then ", " Also, "]) + b[0], a[1] + b[1], a[2] + b[2]


def margins(cosines):
    """How far cosines are on the side of tools that fit, of the border that the absolute loss draws."""
    return (cosines - BORDER) * SHARPNESS


def absolute(cosines, right, counted):
    """The loss of cosines [prompts, tools] on the wrong side of BORDER: of the right tools, and of the nearest wrong ones.

    A softmax only compares the tools of one prompt. With this a cosine means the same for every prompt, so that one
    for which there is no tool is recognised.
    """
    sides = margins(cosines)
    wrong = sides.masked_fill(right | ~counted, -1e4)
    wrong = wrong.topk(min(COUNTED, wrong.shape[1]), 1).values
    return F.softplus(-sides[right]).mean() + F.softplus(wrong).mean()


def contrastive(source, encoder, size, hard, rng, masks, bank, weight=0.0):
    """`size` prompts against their tools, `hard` wrong tools with gradients of their own, and with `bank` the stale ones.

    `masks` is (ALIKE, NEARLY) or what the command line gave instead; `weight` is that of the absolute loss.
    """
    batch = [(query, gold, [query]) for query, gold in source.draw(size, rng)]
    if rng.random() < 0.15:  # two needs in one prompt
        half = len(batch) // 2
        batch = [joined(a, b, rng) for a, b in zip(batch[:half:2], batch[1:half:2])] + batch[half:]
    golds = [gold for _, gold, _ in batch]
    words = torch.zeros(1, 1).expand(len(batch), len(source.tools))
    if source.keyword and rng.random() < BLENDED_SHARE:
        words = source.keyword_scores([parts for _, _, parts in batch])
    near = rng.sample(source.near, min(NEAR_PROMPTS, len(source.near))) if weight else []
    query = encoder([varied_prompt(text, rng) for text in [text for text, _, _ in batch] + [text for text, _ in near]], 56)
    query, near_query = query[: len(batch)], query[len(batch) :]
    positives = [rng.choice(gold) for gold in golds]
    with torch.no_grad():
        stale = query @ source.bank.T + words
        best = torch.stack([stale[row, gold].max() for row, gold in enumerate(golds)])
        alike = source.base[positives] @ source.base.T > masks[0]  # most likely the same tool again
        allowed = (stale < (best + masks[1]).unsqueeze(1)) & ~alike
        for row, gold in enumerate(golds):
            group = source.groups.get(positives[row])
            if group:
                # The author of an order knew all tools of the group: those are wrong however well they score. Another
                # one may do the same, unless it is about something else.
                allowed[row] &= source.base[positives[row]] @ source.base.T < APART
                allowed[row, list(group)] = True
            allowed[row, gold] = False
        ranked = stale.masked_fill(~allowed, -2).topk(min(24, stale.shape[1])).indices.tolist()
    negatives = []
    for row, candidates in enumerate(ranked):
        siblings = source.servers[source.tools[positives[row]].get("server")]
        siblings = siblings if 1 < len(siblings) < 200 else []
        by_words = [t for t in words[row].topk(8).indices.tolist() if words[row, t] > 0] if words.any() else []
        # Near in meaning, near in words, and of the same server: each kind misleads in its own way.
        for kind in (candidates, candidates, by_words, siblings):
            kind = [t for t in kind if allowed[row, t] and not source.is_same(positives[row], t)]
            negatives += [rng.choice(kind)] if kind else []
    columns = list(dict.fromkeys(positives + rng.sample(negatives, min(hard, len(negatives)))))
    near_columns = []
    for row, (_, wrong) in enumerate(near):
        with torch.no_grad():
            nearest = (near_query[row] @ source.bank[wrong].T).topk(min(2, len(wrong))).indices.tolist()
        near_columns += [wrong[i] for i in nearest]
    near_columns = list(dict.fromkeys(near_columns))
    for row, tool in enumerate(positives):
        for other in columns:
            if other != tool and source.is_same(tool, other):
                allowed[row, other] = False
    place = {tool: j for j, tool in enumerate(columns)}
    fresh = encoder([varied(source.tools[c], rng) for c in columns + near_columns], TOOL_TOKENS)
    near_fresh, fresh = fresh[len(columns) :], fresh[: len(columns)]
    logits = query @ fresh.T + words[:, columns]
    keep = allowed[:, columns].clone()
    for row, tool in enumerate(positives):
        keep[row, place[tool]] = True
    logits = (logits / TEMPERATURE).masked_fill(~keep, -1e4)
    others = allowed.clone()
    others[:, columns] = False  # the fresh ones stand for themselves
    old = ((query @ source.bank.T.clone() + words) / TEMPERATURE).masked_fill(~others, -1e4) if bank else logits[:, :0]
    target = torch.tensor([place[tool] for tool in positives])
    loss = F.cross_entropy(torch.cat([logits, old], 1), target)
    if weight:
        right = torch.zeros_like(keep)
        right[torch.arange(len(positives)), target] = True
        loss = loss + weight * absolute(query @ fresh.T, right, keep)
    if near:
        counted = torch.zeros(len(near), len(near_columns), dtype=torch.bool)
        for row, (_, wrong) in enumerate(near):
            counted[row] = torch.tensor([c in wrong for c in near_columns])
        loss = loss + weight * F.softplus(margins(near_query @ near_fresh.T)[counted]).mean()
    with torch.no_grad():
        source.bank[columns] = fresh.detach()
        if near:
            source.bank[near_columns] = near_fresh.detach()
    return loss


def self_supervised(tools, encoder, size, rng):
    left, right = zip(*(self_pair(t, rng) for t in rng.sample(tools, size)))
    q, d = encoder(left, 48), encoder(right, 72)
    logits = q @ d.T / TEMPERATURE
    target = torch.arange(size)
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


def ndcg5(scores, golds):
    total = 0.0
    for row, gold in enumerate(golds):
        top = scores[row].topk(min(5, scores.shape[1])).indices.tolist()
        gain = sum(1 / math.log2(i + 2) for i, t in enumerate(top) if t in gold)
        total += gain / sum(1 / math.log2(i + 2) for i in range(min(5, len(gold))))
    return total / len(golds)


class Validation:
    def __init__(self, data):
        self.sets, rng = {}, random.Random(1)
        for name, count in VALIDATION.items():
            tools = rows(data / name / "tools.jsonl")
            at = {t["id"]: i for i, t in enumerate(tools)}
            prompts = rows(data / name / "queries.jsonl")
            self.add(name, tools, rng.sample(prompts, min(count, len(prompts))), at)

    def add(self, name, tools, prompts, at):
        prompts = [p for p in prompts if any(g in at for g in p["gold"])]
        self.sets[name] = ([tool_text(t) for t in tools], [p["query"] for p in prompts],
                           [{at[g] for g in p["gold"] if g in at} for p in prompts])

    def score(self, encoder, model):
        scores = {}
        for name, (texts, prompts, golds) in self.sets.items():
            d, q = encoder.all(texts, 160, model), encoder.all(prompts, 96, model)
            scores[name] = round(ndcg5(q @ d.T, golds), 4)
        scores["mean"] = round(sum(scores.values()) / len(scores), 4)
        return scores


def measured_servers():
    """The servers of the families that quality is measured with: nothing is trained on prompts for them."""
    ids = {line for path in FAMILIES.glob("*/tools.txt") for line in path.read_text(encoding="utf-8").splitlines()}
    return {id.rsplit("/", 1)[0] for id in ids}


def written(folder, kind):
    return [row for path in sorted(Path(folder).glob(f"{kind}_*.jsonl")) for row in rows(path)]


def read_prompts(folder):
    """The prompts written for training: `{"query","gold":[ids of _merged]}` rows."""
    measured = measured_servers()
    return [row for row in written(folder, "written") if not any(id.rsplit("/", 1)[0] in measured for id in row["gold"])]


def read_orders(folder):
    """Orders over groups of tools, the ids of each group's tools, and those tools that were written for this.

    One with an empty `gold` is a near order: `wrong` has its group.
    """
    measured = measured_servers()
    groups = {row["group"]: row["tools"] for row in written(folder, "groups")}
    groups = {group: tools for group, tools in groups.items() if not any(id.rsplit("/", 1)[0] in measured for id in tools)}
    orders = [row for row in written(folder, "orders") if row["group"] in groups]
    orders = [row if row["gold"] else {**row, "wrong": groups[row["group"]]} for row in orders]
    return orders, list(groups.values()), written(folder, "tools")


def load_sources(a, encoder, validation, rng):
    shares = dict(s.split("=") for s in a.share)
    sources = []
    for name, (split_name, share) in SETS.items():
        share = float(shares.get(name, share))
        if share > 0:
            tools = rows(a.data / name / "tools.jsonl")
            sources.append(Source(name, share, tools, rows(a.data / name / f"{split_name}.jsonl"), encoder))
    merged = rows(a.data / "_merged" / "tools.jsonl")
    catalog = [t for t in merged if t["id"].startswith(CATALOGS) and len(t["description"]) > 25]
    prompts_share = float(shares.get("prompts", PROMPTS_SHARE))
    if a.prompts and prompts_share > 0:
        prompts = read_prompts(a.prompts)
        rng.shuffle(prompts)
        held = prompts[: len(prompts) // 25]
        # The bank: every tool that a prompt names, what stands on the same servers, and some more.
        wanted = {g for p in prompts for g in p["gold"]}
        servers = {t.get("server") for t in catalog if t["id"] in wanted}
        near = [t for t in catalog if t["id"] in wanted or (t.get("server") in servers and rng.random() < 0.25)]
        far = rng.sample(catalog, 500)
        tools = list({t["id"]: t for t in near + far}.values())
        sources.append(Source("prompts", prompts_share, tools, prompts[len(held):], encoder))
        held = held[:250]
        named = {g for p in held for g in p["gold"]}
        few = list({t["id"]: t for t in [t for t in tools if t["id"] in named] + far}.values())
        validation.add("held_out_prompts", few, held, {t["id"]: i for i, t in enumerate(few)})
        orders, groups, own = read_orders(a.prompts)
        orders_share = float(shares.get("orders", ORDERS_SHARE))
        if orders and orders_share > 0:
            grouped = {tool for group in groups for tool in group}
            servers = {(t["id"].split(":")[0], t.get("server")) for t in catalog if t["id"] in grouped}
            tools = [t for t in catalog if (t["id"].split(":")[0], t.get("server")) in servers] + own
            sources.append(Source("orders", orders_share, tools, orders, encoder, groups))
    return sources, [t for t in catalog if len(t["description"]) > 40], float(shares.get("self", SELF_SHARE))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("init")
    p.add_argument("data", type=Path)
    p.add_argument("out", type=Path)
    p.add_argument("--steps", type=int, required=True)
    p.add_argument("--batch", type=int, default=40)
    p.add_argument("--hard", type=int, default=16, help="wrong tools a step that get gradients of their own")
    p.add_argument("--alike", type=float, default=ALIKE, help="cosine above which two tools are taken for one")
    p.add_argument("--nearly", type=float, default=NEARLY, help="what a wrong tool may score above the right one")
    p.add_argument("--no-bank", action="store_true", help="wrong tools of the batch only, no stale ones in the softmax")
    p.add_argument("--keyword", help="a built `toolroute`: train what it blends, not the encoder alone")
    p.add_argument("--absolute", type=float, default=0, help="weight of the loss of cosines on the wrong side of a border")
    p.add_argument("--rate", type=float, default=4e-5)
    p.add_argument("--final-rate", type=float, default=0.05, help="share of the rate left at the end")
    p.add_argument("--warmup", type=int, default=60)
    p.add_argument("--ema", type=float, default=0.997)
    p.add_argument("--prompts")
    p.add_argument("--share", action="append", default=[], help="SET=X, also prompts=X and self=X")
    p.add_argument("--validate-every", type=int, default=250)
    p.add_argument("--save-every", type=int, default=50, help="steps between checkpoints to go on from (OUT_DIR/state.pt)")
    p.add_argument("--bf16", action="store_true", help="bfloat16 products: for processors and accelerators that have them")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()
    torch.manual_seed(a.seed)
    torch.set_num_threads(a.threads)
    rng = random.Random(a.seed)
    a.out.mkdir(parents=True, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder, validation = Encoder(a.init, device, a.bf16), Validation(a.data)
    sources, catalog, self_share = load_sources(a, encoder, validation, rng)
    for source in sources if a.keyword else []:
        source.ask_keyword(a.keyword)
    average = copy.deepcopy(encoder.model)
    trained = [q for q in encoder.model.parameters() if q.requires_grad]
    averaged = [q for q in average.parameters() if q.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=a.rate, weight_decay=0.01)

    def rate(step):
        progress = step / a.steps
        return min(1, (step + 1) / a.warmup) * (a.final_rate + (1 - a.final_rate) * 0.5 * (1 + math.cos(math.pi * progress)))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, rate)
    log = open(a.out / "log.jsonl", "a", encoding="utf-8")

    def validate(step, losses, seconds):
        row = {"step": step, "seconds": round(seconds), "loss": losses, **validation.score(encoder, average)}
        print(json.dumps(row), flush=True)
        log.write(json.dumps(row) + "\n")
        log.flush()
        average.save_pretrained(a.out)
        encoder.tokenizer.save_pretrained(a.out)

    start, losses, first = time.time(), {}, 0
    state = a.out / "state.pt"
    if state.exists():
        kept = torch.load(state, weights_only=True, map_location=device)
        encoder.model.load_state_dict(kept["model"])
        average.load_state_dict(kept["average"])
        optimiser.load_state_dict(kept["optimiser"])
        schedule.load_state_dict(kept["schedule"])
        first = kept["step"]
        rng.seed(a.seed * 1_000_003 + first)
        for source in sources:
            source.refresh(encoder)
        print(f"goes on after step {first}", flush=True)
    else:
        validate(0, {}, 0)
    weights = [s.share for s in sources] + [self_share]
    for step in range(first + 1, a.steps + 1):
        k = rng.choices(range(len(weights)), weights)[0]
        if k == len(sources):
            loss, name = self_supervised(catalog, encoder, a.batch + 8, rng), "self"
        else:
            loss = contrastive(sources[k], encoder, a.batch, a.hard, rng, (a.alike, a.nearly), not a.no_bank, a.absolute)
            name = sources[k].name
        losses.setdefault(name, []).append(loss.item())
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimiser.step()
        schedule.step()
        with torch.no_grad():
            decay = min(a.ema, (1 + step) / (10 + step))
            torch._foreach_mul_(averaged, decay)
            torch._foreach_add_(averaged, trained, alpha=1 - decay)
        for source in sources:
            if step % 200 == 0 and len(source.tools) < 300 or step % 1200 == 0:
                source.refresh(encoder)
        if step % 25 == 0:
            passed = time.time() - start
            left = passed / (step - first) * (a.steps - step)
            print(f"step {step}/{a.steps}, {passed:.0f} s, {left:.0f} s to go", flush=True)
        if step % a.save_every == 0:
            parts = {"model": encoder.model, "average": average, "optimiser": optimiser, "schedule": schedule}
            torch.save({"step": step} | {k: v.state_dict() for k, v in parts.items()}, state.with_suffix(".new"))
            state.with_suffix(".new").replace(state)
        if step % a.validate_every == 0 or step == a.steps:
            means = {n: round(sum(v[-40:]) / len(v[-40:]), 3) for n, v in sorted(losses.items())}
            validate(step, means, time.time() - start)


if __name__ == "__main__":
    main()
