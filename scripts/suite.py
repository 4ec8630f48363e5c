#!/usr/bin/env python3
"""Reads a report of `toolroute eval --suite DIR --json`, so that sets are measured by the program that users have.

    scripts/suite.py gate REPORT MINIMA    # exits with 1 if an nDCG@5 is below its minimum
    scripts/suite.py plot REPORT           # draws the report as SVG on stdout
    scripts/suite.py --self-check

MINIMA is a TOML or JSON file with, for each set, the least of keyword, semantic, hybrid, or some of them.
"""
import json
import math
import sys
from html import escape
from pathlib import Path

STRATEGIES = ("keyword", "semantic", "hybrid")


def read(path, what):
    text = Path(path).read_text(encoding="utf-8")
    try:
        if not str(path).lower().endswith(".toml"):
            return json.loads(text)
        import tomllib  # Python 3.11; JSON needs none of it.
        return tomllib.loads(text)
    except ValueError as error:
        raise SystemExit(f"error: {path} is not {what}: {error}")


def read_minima(path):
    expected = f"error: {path} is not a gate; expected minima of nDCG@5, such as [SET] and hybrid = 0.75 below it: "
    minima = read(path, "a gate")
    for name, least in minima.items():
        if not isinstance(least, dict) or set(least) - set(STRATEGIES):
            raise SystemExit(f"{expected}found {least} for the set {name}")
        for value in least.values():
            if not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise SystemExit(f"{expected}the minimum {value} is not within 0 and 1")
    if not any(minima.values()):
        raise SystemExit(f"{expected}it holds no minimum")
    return minima


def gate(report, minima):
    """The scores below their minima as (set, strategy, score, minimum), the number of scores compared, and the sets
    that were not measured."""
    sets = {one["set"]: one["strategies"] for one in report["sets"]}
    skipped = [name for name in sorted(minima) if name not in sets]
    checked = [(name, strategy, sets[name][strategy]["ndcg@5"]["mean"], least[strategy])
               for name, least in sorted(minima.items()) if name in sets for strategy in STRATEGIES if strategy in least]
    if not checked:  # Any change would pass.
        raise SystemExit(f"error: no set of the gate was measured ({', '.join(skipped)}); measure one of them")
    return [row for row in checked if row[2] < row[3]], len(checked), skipped


WIDTH, TOP, ROW, EDGE = 1120, 128, 44, 24
GAP = 22  # between the sets and the means
BOTTOM = 74
STEP = 11  # between the strategies of a row
LEFT, RIGHT = 276, WIDTH - 236  # of the scale of scores
SCORES, DIFFERENCES = RIGHT + 64, WIDTH - EDGE - 10  # the right ends of the columns of numbers
INK, PALE, GRID, WHITE, BAND = "#22262b", "#68707a", "#dfe3e8", "#ffffff", "#f5f7f9"
# Of those that Okabe and Ito chose to be distinguishable with every kind of colour vision; each strategy has its own
# shape as well. The warning is for a hybrid that is worse than its best part.
COLOUR = {"keyword": "#e69f00", "semantic": "#009e73", "hybrid": "#0072b2"}
WARNING = "#d55e00"


def text(said, x, y, size, colour, bold=False, anchor="start"):
    weight = ' font-weight="bold"' if bold else ""
    return (f'<text x="{x}" y="{y}" dy="0.5ex" text-anchor="{anchor}" font-size="{size}" fill="{colour}"{weight}>'
            f'{escape(said, quote=False)}</text>')


def line(x1, y1, x2, y2, colour, width=1):
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="{width}"/>'


def marker(strategy, x, y):
    """The shape of the strategy with a white rim that separates it from its neighbours."""
    for rim, fill in ((2, WHITE), (0, COLOUR[strategy])):
        if strategy == "hybrid":
            yield f'<circle cx="{x}" cy="{y}" r="{5 + rim}" fill="{fill}"/>'
            continue
        size = (4 if strategy == "keyword" else 6) + rim
        square, diamond = ((-1, -1), (1, -1), (1, 1), (-1, 1)), ((0, -1), (1, 0), (0, 1), (-1, 0))
        corners = square if strategy == "keyword" else diamond
        points = " ".join(f"{x + right * size},{y + down * size}" for right, down in corners)
        yield f'<polygon points="{points}" fill="{fill}"/>'


def scale(rows):
    """The ends of the axis, which are multiples of a tenth, and the function from scores to columns of pixels."""
    scores = [row["strategies"][strategy]["ndcg@5"] for row in rows for strategy in STRATEGIES]
    low = min(max(math.floor(min([1.0] + [score["low"] for score in scores]) * 10), 0), 9)
    high = min(max(math.ceil(max([0.0] + [score["high"] for score in scores]) * 10), low + 1), 10)

    def to_x(score):
        share = (score - low / 10) / (high / 10 - low / 10)
        return LEFT + math.floor(share * (RIGHT - LEFT) + 0.5)

    return [tenth / 10 for tenth in range(low, high + 1)], to_x


def head(report):
    yield text(f'Ranking quality by set: {report["model"]}, {report["precision"]}', EDGE, 30, 24, INK, bold=True)
    prompts, most = sum(one["queries"] for one in report["sets"]), report.get("queries_per_set")
    sample = f", at most {most} a set" if most else ""
    yield text(f'nDCG@5: mean and 95 % bootstrap interval. {len(report["sets"])} sets, {prompts:,} prompts{sample}. '
               "Sorted by hybrid.", EDGE, 60, 15, PALE)
    x = LEFT
    for strategy, about in zip(STRATEGIES, ("keyword (BM25)", "semantic (the model)", "hybrid (both)")):
        yield line(x - 14, 92, x + 14, 92, COLOUR[strategy], 2)
        yield from marker(strategy, x, 92)
        yield text(about, x + 22, 92, 15, INK)
        x += 64 + 8 * len(about)
    yield text("hybrid", SCORES, 92, 13, PALE, anchor="end")
    yield text("less best part", DIFFERENCES, 92, 13, PALE, anchor="end")


def draw_row(row, name, detail, middle, is_mean, to_x):
    name = name if len(name) <= 22 else name[:22] + "…"
    yield text(name, EDGE + 10, middle - 9, 16, INK, bold=is_mean)
    yield text(detail, EDGE + 10, middle + 10, 13, PALE)
    for place, strategy in enumerate(STRATEGIES, -1):
        score, y, colour = row["strategies"][strategy]["ndcg@5"], middle + place * STEP, COLOUR[strategy]
        low, mean, high = (to_x(score[part]) for part in ("low", "mean", "high"))
        yield line(low, y, high, y, colour, 2)
        for end in (low, high):
            yield line(end, y - 3, end, y + 3, colour, 2)
        yield from marker(strategy, mean, y)
    hybrid, against = row["strategies"]["hybrid"]["ndcg@5"]["mean"], row["hybrid_vs_best"]
    yield text(f"{hybrid:.3f}", SCORES, middle, 16, COLOUR["hybrid"], bold=True, anchor="end")
    above, below = (COLOUR["hybrid"],) * 2, (WARNING,) * 2
    ink, pale = {"above": above, "below": below}.get(against["verdict"], (INK, PALE))
    # A minus sign is as wide as the plus sign above it; a hyphen is shorter.
    difference = f'{against["difference"]["mean"]:+.3f}'.replace("-", "−")
    yield text(difference, DIFFERENCES, middle - 8, 15, ink, anchor="end")
    verdict = f'{against["verdict"].replace("_", " ")} {against["best"]}'
    yield text(verdict, DIFFERENCES, middle + 10, 12, pale, anchor="end")


def plot(report):
    by_hybrid = sorted(report["sets"], key=lambda one: -one["strategies"]["hybrid"]["ndcg@5"]["mean"])
    rows = [(one, one["set"], f'{one["tools"]:,} tools, {one["queries"]:,} prompts', False) for one in by_hybrid]
    rows += [(one, f'Mean of {one["over"]}', f'{one["sets"]} sets, each counts the same', True)
             for one in report["means"]]
    tenths, to_x = scale([row for row, *_ in rows])
    height = TOP + ROW * len(rows) + GAP + BOTTOM
    font = "DejaVu Sans, Helvetica, Arial, sans-serif"
    yield (f'<svg width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" font-family="{font}" '
           'xmlns="http://www.w3.org/2000/svg">')
    yield f'<rect width="{WIDTH}" height="{height}" fill="{WHITE}"/>'
    yield from head(report)
    bottom = height - BOTTOM + 8
    for tenth in tenths:
        yield line(to_x(tenth), TOP - 8, to_x(tenth), bottom, GRID)
        yield text(f"{tenth:.1f}", to_x(tenth), bottom + 16, 14, PALE, anchor="middle")
    yield text("nDCG@5 (1 is a perfect ranking)", (LEFT + RIGHT) // 2, bottom + 42, 14, INK, anchor="middle")
    middle, last_was_mean = TOP + ROW // 2, False
    for at, (row, name, detail, is_mean) in enumerate(rows):
        if is_mean and not last_was_mean:
            middle += GAP
            above = middle - ROW // 2 - GAP // 2
            yield line(EDGE, above, WIDTH - EDGE, above, PALE)
        last_was_mean = is_mean
        if at % 2 == 0:
            top = middle - ROW // 2
            yield f'<rect x="{EDGE}" y="{top}" width="{WIDTH - 2 * EDGE}" height="{ROW}" fill="{BAND}"/>'
            yield from (line(to_x(tenth), top, to_x(tenth), top + ROW, GRID) for tenth in tenths)
        yield from draw_row(row, name, detail, middle, is_mean, to_x)
        middle += ROW
    yield "</svg>"


def self_check():
    def one(mean):
        score = {"ndcg@5": {"mean": mean, "low": mean, "high": mean}}
        return {"strategies": dict.fromkeys(STRATEGIES, score), "tools": 2, "queries": 3,
                "hybrid_vs_best": {"best": "keyword", "difference": {"mean": 0.0}, "verdict": "not_below"}}

    sets = [{"set": "<small> & odd", **one(0.5)}, {"set": "sample", **one(0.7)}]
    report = {"model": "m", "precision": "int8", "sets": sets, "means": [{"over": "all sets", **one(0.6), "sets": 2}]}
    low = gate(report, {"sample": {"keyword": 0.5, "hybrid": 0.71}, "absent": {"hybrid": 0.1}})
    assert low == ([("sample", "hybrid", 0.7, 0.71)], 2, ["absent"]), low
    drawn = "\n".join(plot(report))
    assert drawn.index("sample") < drawn.index("&lt;small&gt; &amp; odd") < drawn.index("Mean of all sets"), drawn
    assert scale([])[0] == [0.9, 1.0], "an axis is never empty"
    try:
        gate(report, {"absent": {"hybrid": 0.1}})
    except SystemExit as refused:
        assert "no set of the gate was measured (absent)" in str(refused)
    else:
        raise AssertionError("a gate that measures nothing lets everything through")


def main():
    command, *paths = sys.argv[1:] or [""]
    if command == "--self-check":
        self_check()
    elif command == "plot" and len(paths) == 1:
        print("\n".join(plot(read(paths[0], "a report"))))
    elif command == "gate" and len(paths) == 2:
        low, checked, skipped = gate(read(paths[0], "a report"), read_minima(paths[1]))
        for name in skipped:
            print(f"SKIPPED: the set {name} was not measured", file=sys.stderr)
        for name, strategy, found, least in low:
            print(f"{name} {strategy} {found:.4f}, least {least:.4f}")
        print(f"{len(low)} of {checked} scores are below their minimum", file=sys.stderr)
        return bool(low)
    else:
        raise SystemExit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
