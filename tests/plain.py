"""The plain design in twenty lines: 0.7 of the cosine and 0.3 of BM25, both from 0 to 1 over all tools.

Reads {"cosines": {tool: number}, "bm25": {tool: number}} from stdin and writes [[tool, score], ...], the
best first. A tool without a word of the prompt may be missing from `bm25`. tests/it/blend.rs compares.
"""
import json
import sys


def min_max(raw):
    low, high = min(raw.values()), max(raw.values())
    if high - low < 1e-6:  # all alike: found by none, or by all
        return {tool: float(high > 0) for tool in raw}
    return {tool: (number - low) / (high - low) for tool, number in raw.items()}


given = json.load(sys.stdin)
cosines = min_max(given["cosines"])
words = min_max({tool: given["bm25"].get(tool, 0.0) for tool in cosines})
scores = {tool: 0.7 * cosines[tool] + 0.3 * words[tool] for tool in cosines}
json.dump(sorted(scores.items(), key=lambda found: -found[1]), sys.stdout)
