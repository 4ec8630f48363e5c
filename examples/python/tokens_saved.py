# %% [markdown]
# How many tokens of definitions a conversation saves. Each `# %%` begins a cell, for editors that run
# Python files as notebooks; `python examples/python/tokens_saved.py CATALOG` runs all of it.

# %%
import json
import sys

from toolroute import Router

catalog = sys.argv[1] if len(sys.argv) > 1 else "examples/catalog"
router = Router.from_path(catalog)
prompts = [
    "The new version is broken in production, go back to the one before",
    "Send the figures of last week to Dana",
    "Which branch am I on, and what did I change?",
    "Is the site slow for people in Japan?",
]


# %%
def tokens(tools):
    """Estimated tokens of definitions: bytes divided by four."""
    shown = ("id", "description", "input_schema")
    texts = (json.dumps({name: tool[name] for name in shown if name in tool}) for tool in tools)
    return sum(len(text.encode()) for text in texts) // 4


# %%
everything = tokens(router.tools)
print(f"{len(router)} tools: {everything} tokens in each request")
for prompt in prompts:
    kept = router.filter(prompt, k=8)
    few = tokens(kept)
    saved = 100 * (1 - few / everything)
    print(f"{saved:5.1f} % fewer: {len(kept)} tools, {few:5} tokens  {prompt}")

# %%
router.select(prompts[0], k=5)  # a table with bars in a notebook
