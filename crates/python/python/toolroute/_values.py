"""Values of JSON as the values of Python that the parameters of functions declare."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import difflib
import enum
import inspect
import json
import math
import pathlib
import re
import typing
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._errors import ArgumentError
from ._constraints import default_of, is_field
from ._schema import aliased, hidden_names, other_names, parameters_of, pydantic_adapter, type_hints

#: A duration of ISO 8601 without years and months, which differ in length.
_DURATION = re.compile(
    r"(?P<sign>[+-]?)P(?=.)(?:(?P<weeks>[0-9.]+)W)?(?:(?P<days>[0-9.]+)D)?"
    r"(?:T(?=.)(?:(?P<hours>[0-9.]+)H)?(?:(?P<minutes>[0-9.]+)M)?(?:(?P<seconds>[0-9.]+)S)?)?"
)


def _duration(text: str) -> datetime.timedelta:
    """
    >>> _duration("PT1H30M"), _duration("-P1DT0.5S")
    (datetime.timedelta(seconds=5400), datetime.timedelta(days=-2, seconds=86399, microseconds=500000))
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError
    parts = found.groupdict()
    length = datetime.timedelta(**{name: float(parts[name] or 0) for name in list(parts)[1:]})
    return -length if parts["sign"] == "-" else length


#: Types that are written as a text, with what reads one and an example.
_OF_TEXTS: dict[Any, tuple[Callable[[str], Any], str]] = {
    datetime.datetime: (
        lambda text: datetime.datetime.fromisoformat(f"{text[:-1]}+00:00" if text[-1:] in "zZ" else text),
        "a date and time such as 2026-01-31T12:00:00",
    ),
    datetime.date: (datetime.date.fromisoformat, "a date such as 2026-01-31"),
    datetime.time: (datetime.time.fromisoformat, "a time such as 12:00"),
    datetime.timedelta: (_duration, "a duration such as PT1H30M"),
    decimal.Decimal: (decimal.Decimal, "a number"),
    uuid.UUID: (uuid.UUID, "a UUID"),
    pathlib.Path: (pathlib.Path, "a path"),
    bytes: (str.encode, "a text"),
}

#: What a value of JSON is called.
_NAMES: dict[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}

#: JSON has the whole numbers of 64 bits.
_WHOLE = range(-(2**63), 2**64)


class Number(decimal.Decimal):
    """A number of a text of JSON with all of its digits."""


def number(text: str) -> Any:
    """A number of a text of JSON; one whose exponent is too large for a `Decimal` is infinite or 0."""
    try:
        return Number(text)
    except ArithmeticError:
        return float(text)


def is_plain(value: Any) -> bool:
    """Whether JSON has this value, so that nothing is lost when it is written as JSON."""
    kind = type(value)
    if kind is int:
        return value in _WHOLE
    if kind in (float, Number):
        return math.isfinite(value)
    if kind is list:
        return all(map(is_plain, value))
    if kind is dict:
        return all(type(name) is str and is_plain(one) for name, one in value.items())
    return kind in (str, bool, type(None))


def floats(value: Any) -> Any:
    """A value of JSON with Python's own numbers alone."""
    if isinstance(value, Number):
        return float(value)
    if type(value) is list:
        return [floats(one) for one in value]
    if type(value) is dict:
        return {name: floats(one) for name, one in value.items()}
    return value


def exact(value: Any, given: Any) -> Any:
    """A value of JSON that was repaired, with the digits of the numbers from which it was made.

    >>> exact({"price": 0.1, "n": 1}, {"price": Number("0.10"), "n": "1"})
    {'price': Decimal('0.10'), 'n': 1}
    """
    if isinstance(given, Number) and isinstance(value, (int, float)) and value == float(given):
        return given
    if isinstance(value, list) and isinstance(given, list):
        return [exact(*pair) for pair in zip(value, given)] if len(value) == len(given) else value
    if isinstance(value, dict) and isinstance(given, dict):
        # One name may have been repaired.
        others = [one for name, one in given.items() if name not in value]
        other = others[0] if len(others) == 1 else None
        return {name: exact(one, given.get(name, other)) for name, one in value.items()}
    return value


def spelled(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as the values that their texts say, where only those are of the declared types, and decimal
    numbers with all of their digits.

    >>> def pay(amount: decimal.Decimal, **more: int) -> None: ...
    >>> spelled(pay, {"amount": "0.10", "tip": "5"})
    {'amount': Decimal('0.10'), 'tip': 5}
    """
    hints = type_hints(function)
    of_others = hints.get(other_names(function) or "", Any)
    return {name: _spelled(value, hints.get(name, of_others)) for name, value in arguments.items()}


def _spelled(value: Any, hint: Any) -> Any:
    if not isinstance(value, (str, int, float, Number)):
        return value
    try:
        found = convert(value, hint)
        is_exact = isinstance(value, str) and isinstance(found, decimal.Decimal)
        read: Any = Number(found) if is_exact else value
    except _Misfit:
        try:
            read = json.loads(value) if isinstance(value, str) else json.dumps(floats(value))
            convert(read, hint)
        except (ValueError, ArithmeticError, RecursionError):
            # The checks say what is wrong with it.
            return value
    # Not every Decimal can be compared: "sNaN" cannot.
    is_finite = not isinstance(read, decimal.Decimal) or read.is_finite()
    return read if is_finite and is_plain(read) else value


def converted(id: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as the function declares them: a text for a date becomes one, a mapping for a dataclass an
    object of it.

    Raises:
        ArgumentError: The function has no such parameter, or the value is of another kind.

    >>> def wait(until: datetime.date) -> None: ...
    >>> converted("wait", wait, {"until": "2026-01-31"})
    {'until': datetime.date(2026, 1, 31)}
    """
    hints = type_hints(function)
    _check_names(id, function, arguments)
    found: dict[str, Any] = {}
    of_others = hints.get(other_names(function) or "", Any)
    for name, value in arguments.items():
        try:
            found[name] = convert(value, hints.get(name, of_others)) if is_plain(value) else value
        except _Misfit as error:
            raise ArgumentError(f"`{id}` cannot be called yet: `{name}`: {error}") from None
    for parameter in parameters_of(function):
        # Python itself would pass the `Field` that declares the default.
        if parameter.name not in found and is_field(parameter.default):
            found[parameter.name] = default_of(parameter, hints.get(parameter.name, Any))[1]
    return found


def _check_names(id: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    try:
        inspect.signature(function)
    except (TypeError, ValueError):
        return
    known = [one.name for one in parameters_of(function)]
    hidden, others = hidden_names(function), other_names(function)
    for name in arguments:
        if name in known or (others is not None and name not in hidden):
            continue
        near = difflib.get_close_matches(str(name), known, 1)
        cure = f"did you mean `{near[0]}`?" if near else f"expected {', '.join(known) or 'none'}"
        raise ArgumentError(f"`{id}` cannot be called yet: `{name}` is no parameter of it; {cure}")


class _Misfit(ValueError):
    """What was expected, and what came."""

    def __init__(self, expected: str, value: Any) -> None:
        super().__init__(f"expected {expected}, found {json.dumps(floats(value), ensure_ascii=False):.80}")


def convert(value: Any, hint: Any) -> Any:
    """A value of JSON as one of a type; as it is for a type that is not known here.

    >>> convert(["2026-01-31"], list[datetime.date])
    [datetime.date(2026, 1, 31)]
    """
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    inner = parts[0] if origin is typing.Annotated else aliased(hint)
    if inner is not None:
        return convert(value, inner)
    if origin is typing.Literal:
        return _one_of(value, parts)
    if origin is typing.Union or type(hint).__name__ == "UnionType":
        return _of_any(value, parts)
    if isinstance(origin or hint, type):
        return _of_class(value, origin or hint, parts)
    return floats(value)


def _of_class(value: Any, kind: type, parts: tuple[Any, ...]) -> Any:
    if kind in _NAMES:
        return _plain(value, kind)
    if kind in _OF_TEXTS:
        return _of_text(value, kind)
    if issubclass(kind, enum.Enum):
        return _one_of(value, tuple(kind))
    if callable(getattr(kind, "model_validate", None)):
        try:
            return kind.model_validate(floats(value))  # type: ignore[attr-defined]
        except ValueError as error:
            raise _Misfit(f"{kind.__name__} ({_on_one_line(error)})", value) from None
    adapter = pydantic_adapter(kind)
    if adapter is not None:
        try:
            return adapter.validate_python(floats(value))
        except ValueError as error:
            raise _Misfit(f"{kind.__name__} ({_on_one_line(error)})", value) from None
    if dataclasses.is_dataclass(kind) or hasattr(kind, "__required_keys__"):
        return _of_fields(value, kind)
    if issubclass(kind, Mapping):
        return _of_mapping(value, kind, parts)
    if issubclass(kind, (list, tuple, set, frozenset)):
        return _of_list(value, kind, parts)
    if issubclass(kind, Iterable) and isinstance(value, list):
        return _items(value, parts[:1])
    return floats(value)


def _plain(value: Any, kind: type) -> Any:
    is_number = isinstance(value, (int, float, Number)) and not isinstance(value, bool)
    if kind is float and is_number:
        return float(value)
    if kind is int and is_number and math.isfinite(value) and value == int(value):
        return int(value)
    if kind in (str, bool, type(None)) and isinstance(value, kind):
        return value
    raise _Misfit(_NAMES[kind], value)


def _of_text(value: Any, kind: type) -> Any:
    read, expected = _OF_TEXTS[kind]
    is_number = isinstance(value, (int, float, Number)) and not isinstance(value, bool)
    if kind is decimal.Decimal and is_number:
        value = str(value)
    if not isinstance(value, str):
        raise _Misfit(expected, value)
    try:
        return read(value)
    except (ValueError, ArithmeticError):
        raise _Misfit(expected, value) from None


def _one_of(value: Any, allowed: tuple[Any, ...]) -> Any:
    value = floats(value)
    values = [one.value if isinstance(one, enum.Enum) else one for one in allowed]
    for one, own in zip(allowed, values):
        # In Python, 1 is True.
        if own == value and isinstance(own, bool) == isinstance(value, bool):
            return one
    if not all(map(is_plain, values)):
        # JSON has no such values, so that a member is meant by its name.
        for one in allowed:
            if isinstance(one, enum.Enum) and one.name == value:
                return one
        values = [one.name for one in allowed if isinstance(one, enum.Enum)]
    listed = ", ".join(json.dumps(own, ensure_ascii=False) for own in values if is_plain(own))
    raise _Misfit(f"one of {listed}", value)


def _of_any(value: Any, parts: tuple[Any, ...]) -> Any:
    if type(floats(value)) in parts:
        return floats(value)
    misfits: list[str] = []
    for part in parts:
        try:
            return convert(value, part)
        except _Misfit as error:
            misfits.append(str(error).rpartition(", found ")[0].removeprefix("expected "))
    raise _Misfit(" or ".join(misfits), value)


def _of_fields(value: Any, kind: Any) -> Any:
    if not isinstance(value, dict):
        raise _Misfit("an object", value)
    hints = type_hints(kind)
    found = {}
    for name, one in value.items():
        try:
            found[name] = convert(one, hints.get(name, Any))
        except _Misfit as error:
            raise _within(name, error) from None
    if hasattr(kind, "__required_keys__"):
        return found
    try:
        return kind(**found)
    except (TypeError, ValueError) as error:
        raise _Misfit(f"{kind.__name__} ({_on_one_line(error)})", value) from None


def _of_mapping(value: Any, kind: type, parts: tuple[Any, ...]) -> Any:
    if not isinstance(value, dict):
        raise _Misfit("an object", value)
    of_names, of_values = parts if len(parts) == 2 else (Any, Any)
    found = {}
    for name, one in value.items():
        try:
            # Names of JSON are texts.
            key = convert(_spelled(name, of_names), of_names)
            if key in found:
                raise _Misfit("names that differ", name)
            found[key] = convert(one, of_values)
        except _Misfit as error:
            raise _within(name, error) from None
    return found


def _of_list(value: Any, kind: Any, parts: tuple[Any, ...]) -> Any:
    if not isinstance(value, list):
        raise _Misfit("a list", value)
    if hasattr(kind, "_fields"):
        return _of_named_tuple(value, kind)
    if kind is tuple and len(parts) == len(value) and Ellipsis not in parts:
        items = [convert(one, part) for one, part in zip(value, parts)]
    else:
        items = _items(value, parts[:1])
    return items if kind is list else kind(items)


def _of_named_tuple(values: list[Any], kind: Any) -> Any:
    names, defaults = kind._fields, kind._field_defaults
    if not len(names) - len(defaults) <= len(values) <= len(names):
        raise _Misfit(f"a list of {', '.join(names)}", values)
    return _of_fields(dict(zip(names, values)), kind)


def _items(values: list[Any], parts: tuple[Any, ...]) -> list[Any]:
    found = []
    for place, value in enumerate(values):
        try:
            found.append(convert(value, parts[0] if parts else Any))
        except _Misfit as error:
            raise _within(place, error) from None
    return found


def _within(name: Any, error: _Misfit) -> _Misfit:
    """The same misfit, of a member."""
    found = _Misfit.__new__(_Misfit)
    found.args = (f"`{name}`: {error}",)
    return found


def _on_one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
