"""Keyword arguments as the options of the engine, under the names of the command line."""

from __future__ import annotations

import json
import operator
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, TypedDict, Union

from . import _option_checks
from ._errors import RequestError
from ._option_checks import kind_of
from ._toolroute import check_select, check_settings

if TYPE_CHECKING:
    from typing import Literal

Path = Union[str, "os.PathLike[str]"]


class PolicyOptions(TypedDict, total=False):
    """Which tools may be chosen at all."""

    min_reliability: Literal["low", "medium", "high"]
    max_cost: Literal["tiny", "low", "medium", "high"]
    max_latency: Literal["fast", "medium", "slow", "very_slow"]
    #: What a tool that declares no tier counts as.
    undeclared: Literal["medium", "admit", "exclude"]
    max_per_server: int
    #: The least share of the best score, 0 to 1, of tools of other servers.
    near_best: float
    observed_tiers: bool
    #: Scores that differ by at most this are ordered by reliability, cost and latency; 0 to 1.
    policy_band: float
    #: Whether a tool that requires an id comes with a tool that gives it, unless the prompt has the id.
    complete: bool


class SelectOptions(PolicyOptions, total=False):
    """Options of one selection."""

    strategy: Literal["auto", "keyword", "semantic", "hybrid"]
    #: The only tools to rank: ids or tools.
    candidates: Iterable[Any]
    #: All that is known around the prompt; `docs/context.md` has its members.
    context: Mapping[str, Any]
    #: What was said before the prompt, oldest first: `{"role", "text"}`.
    conversation: Sequence[Mapping[str, Any]]
    #: Files that the prompt is about: `{"path", "content"}`.
    files: Sequence[Mapping[str, Any]]
    stage: Literal[
        "initial", "planning", "reading", "analysis", "execution", "verification", "completion"
    ]
    #: A profile of the router.
    profile: str
    #: Patterns of ids, one of which a tool must match.
    enable: Sequence[str]
    #: Patterns of ids to leave out.
    exclude: Sequence[str]
    #: The model that will call the tools; a small one gets at most ten.
    for_model: str
    cost_aware: bool
    budget_tokens: int


class FilterOptions(TypedDict, total=False):
    """Which tools of a conversation may be kept at all, as in a selection."""

    min_reliability: Literal["low", "medium", "high"]
    max_cost: Literal["tiny", "low", "medium", "high"]
    max_latency: Literal["fast", "medium", "slow", "very_slow"]
    undeclared: Literal["medium", "admit", "exclude"]
    candidates: Iterable[Any]
    enable: Sequence[str]
    exclude: Sequence[str]
    stage: Literal[
        "initial", "planning", "reading", "analysis", "execution", "verification", "completion"
    ]


class RouterOptions(PolicyOptions, total=False):
    """Options of a router; those of the policy apply where a selection has none."""

    strategy: Literal["auto", "keyword", "semantic", "hybrid"]
    #: The confidence below which an answer has no tool, 0 (always answer) to 1.
    min_confidence: float
    #: A prompt is one request, even where it asks for several things.
    whole: bool
    #: Patterns of ids by the name of a profile.
    profiles: Mapping[str, Sequence[str]]
    #: A name such as `static`, a folder, or `none` for words alone.
    model: str
    precision: Literal["int8", "f32"]
    #: A tool that is left out is an error instead of a warning.
    strict: bool
    #: Files that set tiers, hints and fallbacks of the tools.
    overlay: Union[Path, Sequence[Path]]
    author_signals: bool
    #: A file that keeps the vectors of the tools.
    index: Path
    #: A file of what `learn` learned, which `save` wrote.
    usage: Path
    #: The log of executions, which `record` writes.
    feedback: Path
    #: The file of agreed definitions [default: that of the command line].
    pins: Path
    #: Tools that may destroy something run without `confirmed`.
    yes: bool


class ServerOptions(RouterOptions, total=False):
    """Options of a router of servers: how it calls their tools, as `toolroute call` does."""

    #: Only tools that declare that they only read may be called.
    read_only: bool
    #: Patterns of ids, one of which a tool must match to be called.
    allow: Sequence[str]
    #: Patterns of ids that are never called.
    deny: Sequence[str]
    #: The seconds to wait for a tool, from its start or its latest progress [default: 60, and 300 for research].
    timeout: int
    #: The most seconds of a call with all tries and fallbacks [default: 900].
    longest_request: int
    #: The most characters of an answer [default: 40,000]; `Router.read_more` gives the rest.
    max_chars: int
    #: A tool that failed is not answered for by another.
    no_fallback: bool
    #: A tool that is near in meaning may answer for one that failed, where both only read.
    fallback_by_meaning: bool
    #: How often a session may make the same call, as long as nothing else was changed [default: 3].
    same_call: int
    #: How often a session may repeat a cycle of calls [default: 3].
    same_cycle: int
    #: The most calls of a session.
    session_calls: int
    #: The most cost of the calls of a session, in units of a tool of tiny cost.
    session_cost: int


_POLICY = (
    "min_reliability",
    "max_cost",
    "max_latency",
    "undeclared",
    "max_per_server",
    "near_best",
    "observed_tiers",
)
_CONTEXT = {
    "conversation": "conversation",
    "files": "files",
    "stage": "stage",
    "profile": "profile",
    "enable": "enabled_tools",
    "exclude": "excluded_tools",
    "for_model": "model",
    "cost_aware": "cost_aware",
    "budget_tokens": "budget_tokens",
}
_SELECT = ("strategy", "policy_band", "complete")
_OF_SELECTIONS = {*_POLICY, *_CONTEXT, *_SELECT, "candidates", "context"}
_OF_FILTERS = {*_POLICY[:4], "candidates", "enable", "exclude", "stage"}
_PATHS = ("index", "usage", "feedback", "pins")
_SETTINGS = ("model", "precision", "strict", "author_signals", "yes")
_OF_CATALOGS = {"strict", "author_signals"}
_CALLS = (
    "read_only",
    "allow",
    "deny",
    "timeout",
    "longest_request",
    "max_chars",
    "no_fallback",
    "fallback_by_meaning",
    "same_call",
    "same_cycle",
    "session_calls",
    "session_cost",
)
_OF_SERVERS = {"pins", *_CALLS}
_CONFIG = {"strategy", "min_confidence", "complete", "policy_band", "profiles"}
_OF_ROUTERS = {*_POLICY, *_PATHS, *_SETTINGS, *_CONFIG, "whole", "overlay"}

#: The limit of `auto`, as on the command line.
_MOST_BY_ITSELF = 10


def settings_json(options: Mapping[str, Any], source: str = "tools") -> str:
    """The options of a router as JSON; `source` says what its tools come from.

    Raises:
        RequestError: An option has a value that is not valid.
        TypeError: There is no such option.
    """
    if source == "servers":
        known = _OF_ROUTERS - _OF_CATALOGS | _OF_SERVERS
        _option_checks.check("Router.from_servers", options, known, set())
    else:
        _option_checks.check("Router", options, _OF_ROUTERS - _OF_SERVERS, set())
    return _checked(_settings, options, check_settings)


def _settings(options: Mapping[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = {name: options[name] for name in options if name in _CONFIG}
    if options.get("whole"):
        config["clauses"] = False
    config["policy"] = policy_of(options)
    settings: dict[str, Any] = {name: options[name] for name in _SETTINGS if name in options}
    settings.update({name: os.fspath(options[name]) for name in _PATHS if name in options})
    settings["overlay"] = paths_of(options.get("overlay", ()))
    settings["config"] = config
    settings["calls"] = {name: options[name] for name in _CALLS if name in options}
    return settings


def paths_of(paths: Union[Path, Iterable[Path]], name: str = "overlay") -> list[str]:
    """One path or several as texts.

    Raises:
        TypeError: The argument with this name is something else.
    """
    if isinstance(paths, (str, os.PathLike)):
        return [os.fspath(paths)]
    if isinstance(paths, bytes) or not isinstance(paths, Iterable):
        raise TypeError(f"{name}={paths!r:.80}: expected a path or a list of paths, found {kind_of(paths)}")
    return [path_of(path) for path in paths]


def path_of(path: Any) -> str:
    """
    Raises:
        TypeError: It is no path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"expected a path, found {path!r:.80}; write it as a text or a pathlib.Path")
    return os.fspath(path)


def session(name: Any) -> Optional[str]:
    """
    Raises:
        TypeError: It is no name of a session.
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(f"session={name!r:.80}: expected a text, found {kind_of(name)}; write session=str(…)")
    return name


def prompts(given: Any) -> Iterable[str]:
    """
    Raises:
        TypeError: They are no list of prompts.
    """
    if isinstance(given, str):
        raise TypeError("expected a list of prompts, found one prompt; write [prompt]")
    if isinstance(given, (bytes, Mapping)) or not isinstance(given, Iterable):
        raise TypeError(f"expected a list of prompts, found {given!r:.80}; write [prompt]")
    return given


def outcome(ok: Any, duration_ms: Any) -> None:
    """Checks what `Router.record` logs.

    Raises:
        TypeError: A value is of another kind.
        RequestError: The time is negative.
    """
    if not isinstance(ok, bool):
        raise TypeError(f"ok={ok!r:.80}: expected True or False, found {kind_of(ok)}")
    if duration_ms is not None and not _option_checks.is_whole(duration_ms):
        cure = "; write duration_ms=round(…)" if isinstance(duration_ms, float) else ""
        said = f"expected whole milliseconds, found {kind_of(duration_ms)}{cure}"
        raise TypeError(f"duration_ms={duration_ms!r:.80}: {said}")
    if duration_ms is not None and duration_ms < 0:
        raise RequestError(f"duration_ms={duration_ms!r}: expected milliseconds from 0")


def policy_of(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in _POLICY if name in options}


def select_json(
    k: Union[int, Literal["auto"]],
    options: Mapping[str, Any],
    policy: Mapping[str, Any],
    candidates: Optional[list[str]],
) -> str:
    """The options of a selection as JSON; `policy` is that of the router.

    Raises:
        RequestError: An option has a value that is not valid.
    """
    most, adaptive = (_MOST_BY_ITSELF, True) if k == "auto" else (limit(k), False)
    fixed: dict[str, Any] = {"limit": most}
    if adaptive:
        fixed["adaptive"] = True
    if candidates is not None:
        fixed["candidates"] = candidates
    if not options:
        return json.dumps(fixed)

    def asked(options: Mapping[str, Any]) -> dict[str, Any]:
        found = {**fixed, **{name: options[name] for name in _SELECT if name in options}}
        own = policy_of(options)
        if own:
            found["policy"] = {**policy, **own}
        context = dict(options.get("context") or {})
        context.update({_CONTEXT[name]: options[name] for name in _CONTEXT if name in options})
        if context:
            found["context"] = context
        return found

    return _checked(asked, options, check_select)


def check(function: str, options: Mapping[str, Any], beside: Iterable[str]) -> None:
    """Checks the options of selections, beside which the function has other arguments.

    Raises:
        RequestError: A number is out of range.
        TypeError: There is no such option, or its value is of another kind.
    """
    _option_checks.check(function, options, _OF_SELECTIONS.union(beside), _OF_ROUTERS)


def check_filter(function: str, options: Mapping[str, Any]) -> None:
    """Checks the options of `Router.filter`, as `check` does."""
    _option_checks.check(function, options, {*_OF_FILTERS, "k"}, _OF_ROUTERS)


def limit(k: Any, name: str = "k") -> int:
    """A number of tools, the value of the argument with this name.

    Raises:
        RequestError: It is less than 1, or not a whole number.
    """
    try:
        number = 0 if isinstance(k, bool) else operator.index(k)
    except TypeError:
        number = 0
    if number < 1:
        raise RequestError(f'{name}={k!r}: expected a number from 1; `select` also takes "auto"')
    # No catalog has more tools, and the engine's numbers end somewhere.
    return min(number, sys.maxsize)


def offset(given: Any) -> int:
    """A place in a text.

    Raises:
        TypeError: It is no whole number.
        RequestError: It is negative, or beyond any text.
    """
    if not _option_checks.is_whole(given):
        raise TypeError(f"offset={given!r:.80}: expected a whole number, found {kind_of(given)}")
    if not 0 <= given <= sys.maxsize:
        raise RequestError(f"offset={given!r:.80}: expected a whole number from 0")
    return operator.index(given)


def _checked(
    write: Callable[[Mapping[str, Any]], dict[str, Any]],
    options: Mapping[str, Any],
    check: Callable[[str], None],
) -> str:
    """The options as JSON that the engine can read. An error names the option."""

    def text(options: Mapping[str, Any]) -> str:
        written = json.dumps(write(options), allow_nan=False)
        check(written)
        return written

    wrong = (RequestError, TypeError, ValueError)
    try:
        return text(options)
    except wrong as error:
        for name, value in options.items():
            try:
                text({name: value})
            except wrong as found:
                raise RequestError(f"{name}={value!r:.80}: {found}") from found
        raise RequestError(str(error)) from error
