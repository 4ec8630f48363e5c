"""Whether keyword arguments are options, and values of the kinds that they take."""

from __future__ import annotations

import difflib
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Optional

from ._errors import RequestError


class _Kind(NamedTuple):
    """What an option takes, in words, and whether a value is of that kind."""

    expected: str
    admits: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)


def _list_of(of: str, kind: type) -> _Kind:
    def admits(value: Any) -> bool:
        return isinstance(value, (list, tuple)) and all(isinstance(one, kind) for one in value)

    return _Kind(f"a list of {of}", admits)


_TEXT = _Kind("a text", lambda value: isinstance(value, str))
_SHARE = _Kind("a number from 0 to 1", _is_number)
_WHOLE = _Kind("a whole number from 1", is_whole)
_FLAG = _Kind("True or False", lambda value: isinstance(value, bool))
_PATH = _Kind("a path", lambda value: isinstance(value, (str, os.PathLike)))
_PATHS = _Kind(
    "a path or a list of paths",
    lambda value: _PATH.admits(value) or (isinstance(value, (list, tuple)) and all(map(_PATH.admits, value))),
)
_MAPPING = _Kind("a mapping", lambda value: isinstance(value, Mapping))
_PATTERNS = _list_of("patterns of ids", str)

_KINDS: dict[str, _Kind] = {
    "min_reliability": _TEXT,
    "max_cost": _TEXT,
    "max_latency": _TEXT,
    "undeclared": _TEXT,
    "max_per_server": _WHOLE,
    "near_best": _SHARE,
    "observed_tiers": _FLAG,
    "policy_band": _SHARE,
    "complete": _FLAG,
    "strategy": _TEXT,
    "candidates": _Kind("ids or tools", lambda value: isinstance(value, Iterable)),
    "context": _MAPPING,
    "conversation": _list_of("what was said, each {'role': …, 'text': …}", Mapping),
    "files": _list_of("files, each {'path': …, 'content': …}", Mapping),
    "stage": _TEXT,
    "profile": _TEXT,
    "enable": _PATTERNS,
    "exclude": _PATTERNS,
    "for_model": _TEXT,
    "cost_aware": _FLAG,
    "budget_tokens": _WHOLE,
    "min_confidence": _SHARE,
    "whole": _FLAG,
    "profiles": _MAPPING,
    "model": _TEXT,
    "precision": _TEXT,
    "strict": _FLAG,
    "author_signals": _FLAG,
    "overlay": _PATHS,
    "index": _PATH,
    "usage": _PATH,
    "feedback": _PATH,
    "pins": _PATH,
    "yes": _FLAG,
    "read_only": _FLAG,
    "allow": _PATTERNS,
    "deny": _PATTERNS,
    "timeout": _WHOLE,
    "longest_request": _WHOLE,
    "max_chars": _WHOLE,
    "no_fallback": _FLAG,
    "fallback_by_meaning": _FLAG,
    "same_call": _WHOLE,
    "same_cycle": _WHOLE,
    "session_calls": _WHOLE,
    "session_cost": _WHOLE,
}
#: These cannot be `None`, which is no list.
_LISTS = ("conversation", "files", "enable", "exclude", "allow", "deny")
#: How one text is written as the list that is expected.
_CURES: dict[str, Callable[[str], Any]] = {
    "conversation": lambda text: [{"role": "user", "text": text}],
    "files": lambda text: [{"path": text, "content": "…"}],
    "enable": lambda text: [text],
    "exclude": lambda text: [text],
    "allow": lambda text: [text],
    "deny": lambda text: [text],
}

#: Names that other libraries and other functions of this one have for an option.
_SAME: dict[str, tuple[str, ...]] = {
    "k": ("limit",),
    "limit": ("k",),
    "top_k": ("k", "limit"),
    "topk": ("k", "limit"),
    "n": ("k", "limit"),
    "n_results": ("k", "limit"),
    "max_results": ("k", "limit"),
    "min_score": ("min_confidence",),
    "threshold": ("min_confidence",),
    "messages": ("conversation",),
    "history": ("conversation",),
    "only": ("candidates", "enable"),
    "without": ("exclude",),
    "model": ("for_model",),
    "confirm": ("yes",),
}


def check(function: str, options: Mapping[str, Any], known: set[str], others: set[str]) -> None:
    """
    Args:
        function: What was called.
        known: The options of the function.
        others: Those that the router takes instead.

    Raises:
        TypeError: There is no such option, or its value is of another kind.
        RequestError: A number is out of range.
    """
    for name, value in options.items():
        if name not in known:
            listed = ", ".join(sorted(known))
            cure = _cure(name, known, others)
            raise TypeError(f"{function}() has no option {name!r}; {cure}expected one of {listed}")
        if value is not None or name in _LISTS:
            _check_value(name, value)


def _cure(name: str, known: set[str], others: set[str]) -> str:
    same = next((other for other in _SAME.get(name, ()) if other in known), None)
    near = same or next(iter(difflib.get_close_matches(name, sorted(known), 1)), None)
    if name in others:
        return f"Router(…, {name}=…) takes it for all selections; "
    return f"did you mean `{near}`? " if near else ""


def _check_value(name: str, value: Any) -> None:
    kind = _KINDS.get(name)
    if kind is None:
        return
    if not kind.admits(value):
        found = kind_of(value)
        cure: Optional[str] = None
        first = value[0] if isinstance(value, (list, tuple)) and value else value
        if isinstance(first, str) and name in _CURES:
            cure = f"; write {name}={_CURES[name](first)!r:.120}"
        raise TypeError(f"{name}={value!r:.80}: expected {kind.expected}, found {found}{cure or ''}")
    if kind is _SHARE and not 0 <= value <= 1:
        raise RequestError(f"{name}={value!r}: expected 0 to 1")
    if kind is _WHOLE and value < 1:
        raise RequestError(f"{name}={value!r}: expected a whole number from 1")


def kind_of(value: Any) -> str:
    if isinstance(value, str):
        return "a text"
    if isinstance(value, (list, tuple)):
        # One of its elements is of another kind.
        return f"a {type(value).__name__} of others"
    return "None" if value is None else f"a value of the type {type(value).__name__}"
