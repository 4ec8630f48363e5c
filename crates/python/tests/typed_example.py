"""What type checkers know of the package: `mypy --strict` and pyright's strict mode pass."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Literal, Optional

import ray.data

import toolroute
import toolroute.ray
from toolroute import Excluded, Hit, Ranked, Router, Selection, SelectOptions


def send_email(to: str, text: str) -> str:
    """Sends an email to a person."""
    return f"sent {text} to {to}"


def read_file(path: str) -> str:
    """Reads a file."""
    return path


async def main() -> None:
    router = Router([send_email, read_file], max_cost="medium", min_confidence=0.4)
    selection = router.select("write to Dana", k="auto", session="a", stage="execution")
    first: Optional[float] = selection.confidence
    for hit in selection:
        id: str = hit.id
        print(id, hit.score, hit.why, hit.tool, first)
    left_out: list[str] = [excluded.why for excluded in selection.excluded]
    many = router.select_many(["a", "b"], 3, exclude=["read*"])
    options: SelectOptions = {"policy_band": 0.0}
    later = await router.aselect("write to Dana", **options)
    print(await router.afilter("write to Dana", k=3, max_cost="low", candidates=[read_file]), copy.copy(router).tools)
    print(left_out, len(many), later.tools, many[0][:1])
    rows: Router[dict[str, Any]] = Router.from_path(["catalog"], strict=True)
    row: dict[str, Any] = rows.select("write to Dana")[0].tool
    print(row, rows.filter([{"role": "user", "content": "hi"}], k=3), rows.problems)
    batches = toolroute.rank_batches([], router, limit="auto", id_column="key", stage="execution")
    lines: list[str] = list(toolroute.json_lines(batches))
    print(lines)
    ranked: list[Ranked] = toolroute.rerank("query", ["a", "b"], k=1)
    print(ranked[0].score, toolroute.embed(["a"]).shape)
    try:
        router.call("send_email", {"to": "Dana", "text": "hi"})
    except toolroute.ConfirmationNeeded as error:
        print(error)


def on_ray(dataset: ray.data.Dataset) -> ray.data.Dataset:
    return toolroute.ray.rank(dataset, [send_email], limit=3, concurrency=(1, 4), max_cost="low")


def functions() -> None:
    """mypy joins functions of several types to one that cannot be called."""
    router: Router[Callable[..., Any]] = Router([send_email, read_file])
    print([tool("Dana", "hi") for tool in router], read_file in router)
    router.select("write to Dana")[0].tool("Dana")


def any_tools(selection: Selection, hit: Hit, router: Router) -> Literal["fits", "unsure", "none"]:
    """Without a type argument the tools are of any type."""
    selection[0].tool.anything()
    hit.tool.anything()
    print(router.definition(hit, "anthropic")["name"], router.call("send_email", '{"to": "Dana"}'))
    # What no checker may admit is an error if it does.
    router.select("write to Dana", k="many")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    return selection.fit


def best(selection: Selection[str], left_out: Excluded[str]) -> Optional[Hit[str]]:
    print(left_out.tool.upper())
    return selection[0] if selection else None
