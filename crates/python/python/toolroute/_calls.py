"""Calls of functions and of tools of frameworks."""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _frameworks, _values
from ._errors import ArgumentError, CallError, RequestError
from ._schema import given_names
from ._selection import Hit
from ._toolroute import NativeSelection
from ._unicode import encodable

if TYPE_CHECKING:
    from ._toolroute import NativeRouter

_EXPECTED = "expected the arguments as a mapping of names to values, or as a JSON text of one"


#: The options of a selection without tools.
_NO_TOOLS = json.dumps({"limit": 1, "candidates": []})


def parsed(arguments: Union[Mapping[str, Any], str, None]) -> dict[str, Any]:
    """A copy of the arguments of a call, which may be a text of JSON, as models write them.

    Raises:
        ArgumentError: They are not a mapping, or the text has what no JSON can carry: NaN, an infinite number,
            a whole one beyond 64 bits.

    >>> parsed('{"city": "Rome"}')
    {'city': 'Rome'}
    """
    given: Any = arguments
    if isinstance(arguments, str):
        try:
            given = json.loads(arguments, parse_float=_values.number) if arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            raise ArgumentError(f"{_EXPECTED}, found {arguments!r:.80}: {error}") from None
    if given is None and arguments is None:
        given = {}
    if not isinstance(given, Mapping):
        raise ArgumentError(f"{_EXPECTED}, found {arguments!r:.80}")
    if isinstance(arguments, str):
        _check_numbers(given)
    _check_texts(given)
    return dict(given)


def _check_numbers(given: Mapping[str, Any]) -> None:
    """Python reads more numbers from a text than JSON has, and the checks of a call would skip them."""
    for name, value in given.items():
        if not _values.is_plain(value):
            raise ArgumentError(
                f"`{name}`: expected finite numbers, and whole ones of at most 64 bits, in a JSON text; "
                f"found {_values.floats(value)!r:.80}; give the arguments as a mapping if the function takes others"
            )


def _check_texts(given: Mapping[str, Any]) -> None:
    """UTF-8 cannot express half of a surrogate pair, so that the function would get another text."""
    for name, value in given.items():
        if not _values.is_plain(value):
            continue
        try:
            json.dumps({name: _values.floats(value)}, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ArgumentError(
                f"{name!r:.80}: expected a text of whole characters, found half of a surrogate pair, "
                f"{error.object[error.start]!r}; give the character itself, or leave it out"
            ) from None


def to_json(arguments: Mapping[str, Any]) -> str:
    """Arguments for the tool of a server.

    Raises:
        ArgumentError: They cannot be written as JSON.
    """
    try:
        return json.dumps(_values.floats(arguments), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"expected arguments that can be written as JSON, found {arguments!r:.80}: {error}"
        ) from error


def check(id: str, tool: Any) -> None:
    """
    Raises:
        CallError: The tool can only be awaited, or there is nothing to call.
    """
    _frameworks.check_callable(id, tool)
    # A tool of LangChain that was made of a coroutine function alone.
    only_awaits = callable(getattr(tool, "coroutine", None)) and getattr(tool, "func", tool) is None
    if only_awaits or _is_coroutine_function(_frameworks.function_of(tool)):
        raise CallError(f"`{id}` is a coroutine function; expected `await router.acall(...)`")


def prepared(
    native: NativeRouter, id: str, tool: Any, given: dict[str, Any], confirmed: bool
) -> dict[str, Any]:
    """The arguments of a call that may be made: checked against the schema of the tool, with its names of
    parameters, and for a function of the types that it declares.

    Raises:
        CallError: Only a framework can call it.
        ConfirmationNeeded: The tool may destroy something, and nobody agreed.
        ArgumentError: The arguments do not fit.
    """
    function, only = _frameworks.function_of(tool), _frameworks.only_model(tool)
    is_runnable = _frameworks.is_runnable(tool)
    for name in () if is_runnable else given_names(function):
        raise CallError(
            f"`{id}` takes `{name}`, which only a framework gives; expected a function without it: let the "
            "agent call it, or bind it with functools.partial"
        )
    # What is denied is said before what is wrong with the arguments, and nobody is asked to agree to a call that
    # cannot be made.
    native.confirm(id, True)
    injected = _frameworks.injected_names(tool)
    apart = {
        name: value for name, value in given.items() if name in injected or not _values.is_plain(value)
    }
    plain = {name: value for name, value in given.items() if name not in apart}
    if not is_runnable and only is None:
        plain = _values.spelled(function, plain)
    text = json.dumps(_values.floats(plain), ensure_ascii=False)
    adapted = {**json.loads(native.prepare(id, text, list(apart))), **apart}
    native.confirm(id, confirmed)
    if is_runnable:
        return adapted
    adapted = _values.exact(adapted, plain)
    arguments = adapted if only is None else {only: adapted}
    return _values.converted(id, function, arguments)


def run(id: str, tool: Any, arguments: dict[str, Any]) -> Any:
    """Calls a function or a tool of a framework.

    Raises:
        CallError: The result must be awaited.
    """
    result = _result(id, tool, arguments)
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            # One that nothing closes is a warning of Python.
            result.close()
        raise CallError(f"`{id}` returns what must be awaited; expected `await router.acall(...)`")
    return result


def _result(id: str, tool: Any, arguments: dict[str, Any]) -> Any:
    if _frameworks.is_of_langchain(tool):
        with _checked(id, tool):
            return tool.invoke(arguments)
    if _frameworks.is_of_llama_index(tool):
        return tool.call(**arguments)
    return _apply(_frameworks.caller_of(tool), arguments)


def coroutine_of(id: str, tool: Any) -> Callable[[dict[str, Any]], Awaitable[Any]]:
    """What awaits a call of the tool. A tool that cannot be awaited runs on another thread, and what it
    returns is awaited where that can be.

    Raises:
        CallError: There is nothing to call.
    """
    _frameworks.check_callable(id, tool)
    if callable(getattr(tool, "ainvoke", None)):

        async def invoke(arguments: dict[str, Any]) -> Any:
            with _checked(id, tool):
                return await tool.ainvoke(arguments)

        return invoke
    if callable(getattr(tool, "acall", None)) and hasattr(tool, "metadata"):
        return lambda arguments: tool.acall(**arguments)
    if _is_coroutine_function(_frameworks.function_of(tool)):
        return lambda arguments: _apply(_frameworks.caller_of(tool), arguments)

    def on_thread(arguments: dict[str, Any]) -> Any:
        try:
            return _result(id, tool, arguments)
        except StopIteration as error:
            # No future can hold it: whoever awaits one would wait for ever.
            raise RuntimeError(f"`{id}` raised StopIteration") from error

    async def apply(arguments: dict[str, Any]) -> Any:
        result = await asyncio.to_thread(on_thread, arguments)
        return await result if inspect.isawaitable(result) else result

    return apply


def check_session(session: Optional[str]) -> None:
    """
    Raises:
        RequestError: A call that Python makes has a session, whose loop guard nothing would apply.
    """
    if session is not None:
        raise RequestError(
            "only calls of a router of servers (Router.from_servers) belong to a session; leave it out"
        )


def note_of(
    log: Optional[NativeRouter], id: str, tool: Any, prompt: Optional[str]
) -> Callable[[bool, int], object]:
    """What logs how a call went, for the prompt of a hit or for the given one; nothing without a log or a
    prompt.

    Raises:
        RequestError: This process cannot write the log.
    """
    answer = tool._answer if isinstance(tool, Hit) else None
    if log is not None and prompt is not None and not (answer and answer.prompt == prompt):
        # Which tools there were to choose from is not known.
        answer = log.select(encodable(prompt), _NO_TOOLS)
    if log is None or not isinstance(answer, NativeSelection):
        return lambda ok, duration_ms: None
    log.check_log()
    return partial(log.record, answer, id)


@contextmanager
def noted(note: Callable[[bool, int], object]) -> Iterator[None]:
    """Notes whether a call went well, and its time in milliseconds. What was not called is not noted."""
    start = time.monotonic()

    def passed() -> int:
        return round((time.monotonic() - start) * 1000)

    try:
        yield
    except CallError:
        raise
    except Exception:
        note(False, passed())
        raise
    note(True, passed())


@contextmanager
def _checked(id: str, tool: Any) -> Iterator[None]:
    """What LangChain itself says of the arguments of a tool, as an error of arguments."""
    try:
        yield
    except Exception as error:
        if not _frameworks.is_of_checked_arguments(error, tool):
            raise
        said = " ".join(str(error).split())
        raise ArgumentError(f"`{id}` cannot be called yet: expected arguments that fit it: {said}") from error


def _is_coroutine_function(tool: Any) -> bool:
    return inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(
        getattr(tool, "__call__", None)
    )


def _apply(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Calls a function with arguments by name, also those of parameters without a name for callers."""
    positional: list[Any] = []
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    for parameter in parameters:
        if parameter.kind is not parameter.POSITIONAL_ONLY or parameter.name not in arguments:
            break
        positional.append(arguments.pop(parameter.name))
    return function(*positional, **arguments)
