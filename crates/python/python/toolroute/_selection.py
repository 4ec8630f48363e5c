"""The answer to a prompt: the tools that were given, best first."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Optional, Union, cast, overload

if TYPE_CHECKING:
    from typing import Literal

    # Type checkers know it, installed or not. With its default, `Selection` alone is one of any tools.
    from typing_extensions import TypeVar

    from ._toolroute import NativeSelection

    #: The engine's answer, or a copy of one.
    Answer = Union[NativeSelection, "CopiedAnswer"]
    Fit = Literal["fits", "unsure", "none"]

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")

#: Cells of the longest bar.
_CELLS = 16


class Hit(Generic[T]):
    """One tool of an answer.

    Attributes:
        tool: The very object that was given to the router.
        id: The name of the tool in every output.
        score: 0 or more; a good one is near 1, the best may be above it. Comparable within one answer.
        why: The words, the meaning and the signals that speak for it.
    """

    __slots__ = ("_answer", "id", "score", "tool", "why")

    def __init__(
        self, tool: T, id: str, score: float, why: str, answer: Optional[Answer] = None
    ) -> None:
        self.tool = tool
        self.id = id
        self.score = score
        self.why = why
        self._answer = answer

    def __repr__(self) -> str:
        return f"Hit(id={self.id!r}, score={self.score:.3f}, why={self.why!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hit):
            return NotImplemented
        same = (self.id, self.score, self.why) == (other.id, other.score, other.why)
        return same and (self.tool is other.tool or bool(self.tool == other.tool))

    def __hash__(self) -> int:
        return hash((self.id, self.score, self.why))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Hit, (self.tool, self.id, self.score, self.why))


@dataclass(frozen=True)
class Excluded(Generic[T]):
    """A tool that the answer would have without the policy and the least confidence."""

    tool: T
    id: str
    score: float
    why: str


class Selection(Sequence["Hit[T]"]):
    """The tools for a prompt, best first: a sequence of `Hit`.

    It is empty where no tool fits; then `reason` says why.

    >>> from toolroute import Router
    >>> router = Router([{"name": "read_file", "description": "Reads a file from disk"}])
    >>> selection = router.select("open the file notes.txt")
    >>> [hit.id for hit in selection]
    ['read_file']
    >>> selection.fit
    'fits'
    >>> router.select("translate this into French").reason
    'no tool fits the prompt'
    """

    def __init__(self, answer: Answer, tool_of: Callable[[str], T]) -> None:
        self._answer = answer
        self._tool_of = tool_of
        self._hits: list[Hit[T]] = [
            Hit(tool_of(id), id, score, why, answer) for id, score, why in answer.hits()
        ]

    @overload
    def __getitem__(self, index: int) -> Hit[T]: ...
    @overload
    def __getitem__(self, index: slice) -> list[Hit[T]]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[Hit[T], list[Hit[T]]]:
        return self._hits[index]

    def __len__(self) -> int:
        return len(self._hits)

    def __iter__(self) -> Iterator[Hit[T]]:
        return iter(self._hits)

    @property
    def tools(self) -> list[T]:
        """The tools alone, best first."""
        return [hit.tool for hit in self._hits]

    @property
    def prompt(self) -> str:
        """What was asked for; `read_as` says where something else was ranked."""
        return self._answer.prompt

    @property
    def session(self) -> Optional[str]:
        """The conversation that the prompt belongs to."""
        return self._answer.session

    @property
    def strategy(self) -> str:
        """How the tools were found: `hybrid`, `semantic` or `keyword`."""
        return self._answer.strategy

    @property
    def abstained(self) -> bool:
        """Whether nothing fits well enough; the nearest tools are then in `excluded`."""
        return self._answer.abstained

    @property
    def fit(self) -> Fit:
        """Whether the tools fit: `fits`, `unsure` (the nearest tools) or `none` (no tool)."""
        return self._answer.fit

    @property
    def confidence(self) -> Optional[float]:
        """The probability that any tool fits, 0 to 1; `None` where it is unknown."""
        return self._answer.confidence

    @property
    def reason(self) -> Optional[str]:
        """Why there is no tool, why it is unsure that one fits, or what makes the answer worse."""
        return self._answer.reason

    @property
    def read_as(self) -> Optional[str]:
        """What the prompt was read as, where that is something else."""
        return self._answer.read_as

    @property
    def excluded(self) -> list[Excluded[T]]:
        """Tools that were left out, each with the reason."""
        left_out = self._answer.excluded()
        return [Excluded(self._tool_of(id), id, score, why) for id, score, why in left_out]

    def to_json(self) -> str:
        """The answer with its explanations, as `toolroute route --json` writes it."""
        return self._answer.json()

    def to_dict(self) -> dict[str, Any]:
        """`to_json`, parsed."""
        return cast("dict[str, Any]", json.loads(self.to_json()))

    def __repr__(self) -> str:
        head = f"{len(self)} tool{'s'[len(self) == 1:]} for {_shortened(self.prompt, 60)!r}"
        if not self._hits:
            return f"No tool for {_shortened(self.prompt, 60)!r}: {self.reason or 'none fits'}"
        wide = max(len(hit.id) for hit in self._hits)
        rows = [
            f"{hit.id:<{wide}}  {hit.score:.3f}  {self._bar(hit):<{_CELLS}}  {_shortened(hit.why, 60)}"
            for hit in self._hits
        ]
        return "\n".join([head, *(row.rstrip() for row in rows)])

    def _repr_html_(self) -> str:
        """For notebooks."""
        if not self._hits:
            return f"<p>{html.escape(repr(self))}</p>"
        rows = "".join(
            f"<tr><td><code>{html.escape(hit.id)}</code></td><td>{hit.score:.3f}</td>"
            f'<td><div style="background:#4c78a8;height:.8em;width:{self._share(hit) * 10:.1f}em">'
            f"</div></td><td>{html.escape(hit.why)}</td></tr>"
            for hit in self._hits
        )
        head = "<tr><th>tool</th><th>score</th><th></th><th>why</th></tr>"
        return f"<table><caption>{html.escape(self.prompt)}</caption>{head}{rows}</table>"

    def _share(self, hit: Hit[T]) -> float:
        best = max(hit.score for hit in self._hits)
        return max(0.0, hit.score / best) if best > 0 else 0.0

    def _bar(self, hit: Hit[T]) -> str:
        return "█" * max(1, round(self._share(hit) * _CELLS))

    def __reduce__(self) -> tuple[Any, ...]:
        answer = self._answer
        copy = CopiedAnswer(
            prompt=answer.prompt,
            session=answer.session,
            strategy=answer.strategy,
            abstained=answer.abstained,
            fit=answer.fit,
            confidence=answer.confidence,
            read_as=answer.read_as,
            reason=answer.reason,
            found=answer.hits(),
            left_out=answer.excluded(),
            text=answer.json(),
        )
        tools = {id: self._tool_of(id) for id, _, _ in [*copy.found, *copy.left_out]}
        return (_restored, (copy, tools))


@dataclass(frozen=True)
class CopiedAnswer:
    """An answer without its engine, which has come from another process."""

    prompt: str
    session: Optional[str]
    strategy: str
    abstained: bool
    fit: Fit
    confidence: Optional[float]
    read_as: Optional[str]
    reason: Optional[str]
    found: list[tuple[str, float, str]] = field(repr=False)
    left_out: list[tuple[str, float, str]] = field(repr=False)
    text: str = field(repr=False)

    def hits(self) -> list[tuple[str, float, str]]:
        return self.found

    def excluded(self) -> list[tuple[str, float, str]]:
        return self.left_out

    def json(self) -> str:
        return self.text


def _restored(answer: CopiedAnswer, tools: dict[str, Any]) -> Selection[Any]:
    return Selection(answer, tools.__getitem__)


def _shortened(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
