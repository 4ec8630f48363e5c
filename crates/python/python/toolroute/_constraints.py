"""What annotations say beside a type, in the words of JSON Schema: constraints such as `Ge(2000)` of
annotated_types and `Field(ge=2000, pattern=…)` of pydantic, descriptions and defaults. They are known by
their attributes: no such package is imported.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import inspect
import math
import pathlib
import re
import typing
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Optional

from ._errors import CatalogError

#: The words of JSON Schema for limits of numbers, by attribute.
_LIMITS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}

#: The ends of its words for limits of lengths, by attribute, and the noun between, by type.
_LENGTHS = {"min_length": "min", "max_length": "max"}
_UNITS = {"string": "Length", "array": "Items", "object": "Properties"}

#: Constraints for which it has no word, by attribute and by the name of their class.
_ATTRIBUTES_WITHOUT_WORD = ("max_digits", "decimal_places")
_CLASSES_WITHOUT_WORD = ("Predicate", "Timezone")

#: Parts of Python's regular expressions that those of JSON Schema lack: references by name, conditions, the
#: ends of the text.
_OF_PYTHON_ALONE = re.compile(r"\(\?P=|\(\?\(|\\[AZ]")

#: What is passed on as it is.
_PASSED = ("title", "examples")


def annotate(schema: dict[str, Any], notes: Iterable[Any]) -> None:
    """Adds what the notes of an annotation say to the schema of its type.

    Raises:
        CatalogError: JSON Schema has no word for a constraint, or none for this type.

    >>> @dataclasses.dataclass
    ... class Ge:
    ...     ge: int
    >>> schema = {"type": "integer"}
    >>> annotate(schema, ["A year", Ge(2000)])
    >>> schema
    {'type': 'integer', 'description': 'A year', 'minimum': 2000}
    """
    described = False
    for note in _flat(notes):
        words = note if isinstance(note, str) else _words(note)
        if isinstance(words, str) and not described:
            schema["description"] = words
            described = True
        if not isinstance(note, (str, type)):
            _constrain(schema, note)
            _pass_on(schema, note)


def default_of(parameter: inspect.Parameter, hint: Any) -> tuple[bool, Any]:
    """Whether a parameter may be left out, and the value that it then has. pydantic's `Field` may be the
    default of a parameter, or stand in its annotation.
    """
    default, empty = parameter.default, inspect.Parameter.empty
    if default is not empty and not is_field(default):
        return True, default
    notes = typing.get_args(hint)[1:] if typing.get_origin(hint) is typing.Annotated else ()
    for field in (note for note in (default, *notes) if is_field(note)):
        if not field.is_required():
            return True, field.get_default(call_default_factory=True)
    return False, None


def is_field(value: Any) -> bool:
    """Whether it is what pydantic's `Field` returns."""
    members = ("is_required", "get_default")
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in members)


def to_json(value: Any) -> Any:
    """A default as JSON has it.

    Raises:
        TypeError: JSON has no such value.

    >>> to_json([datetime.date(2026, 1, 31), pathlib.PurePath("a")])
    ['2026-01-31', 'a']
    """
    if isinstance(value, enum.Enum):
        return value.value if is_json(value.value) else value.name
    if is_json(value):
        return value
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (uuid.UUID, pathlib.PurePath)):
        return str(value)
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return int(value) if value == int(value) else float(value)
    if isinstance(value, (list, tuple)):
        return [to_json(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted((to_json(one) for one in value), key=repr)
    if isinstance(value, Mapping):
        return {str(name): to_json(one) for name, one in value.items()}
    if callable(getattr(value, "model_dump", None)):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} is not JSON")


def is_json(value: Any) -> bool:
    """Whether it is a text, a finite number, true, false or null."""
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (str, int))


def _flat(notes: Iterable[Any]) -> Iterator[Any]:
    """The notes, and those that a `Field` holds."""
    for note in notes:
        yield note
        held = getattr(note, "metadata", None)
        if is_field(note) and isinstance(held, (list, tuple)):
            yield from _flat(held)


def _words(note: Any) -> Any:
    """The description that a note holds: `description` of a `Field`, `documentation` of a `Doc`."""
    said = getattr(note, "description", None)
    return getattr(note, "documentation", None) if said is None else said


def _constrain(schema: dict[str, Any], note: Any) -> None:
    for name, word in _LIMITS.items():
        limit = getattr(note, name, None)
        if limit is not None:
            is_number = isinstance(limit, (int, float, decimal.Decimal)) and not isinstance(limit, bool)
            targets = _of_types(schema, ("integer", "number")) if is_number else []
            _set(targets, word, to_json(limit) if is_number else limit, f"{name}={limit!r}")
    for name, side in _LENGTHS.items():
        length = getattr(note, name, None)
        if isinstance(length, int) and not (name == "min_length" and length == 0):
            targets = _of_types(schema, tuple(_UNITS))
            if not targets:
                raise _refused(f"{name}={length!r}")
            for target in targets:
                target[side + _UNITS.get(target.get("type", ""), "Length")] = length
    pattern = getattr(note, "pattern", None)
    if pattern is not None:
        _set(_of_types(schema, ("string",)), "pattern", _pattern(pattern), f"pattern={pattern!r}")
    for name in _ATTRIBUTES_WITHOUT_WORD:
        if getattr(note, name, None) is not None:
            raise _refused(f"{name}={getattr(note, name)!r}")
    if type(note).__name__ in _CLASSES_WITHOUT_WORD:
        raise _refused(repr(note))


def _pattern(pattern: Any) -> Optional[str]:
    """A pattern as the expressions of JSON Schema are written; `None` if they cannot say it."""
    if isinstance(pattern, re.Pattern):
        # A text always has this flag, and theirs have no others.
        pattern = pattern.pattern if pattern.flags == re.UNICODE else None
    is_shared = isinstance(pattern, str) and not _OF_PYTHON_ALONE.search(pattern)
    return pattern if is_shared else None


def _set(targets: list[dict[str, Any]], word: str, value: Any, said: str) -> None:
    if not targets or value is None:
        raise _refused(said)
    for target in targets:
        target[word] = value


def _refused(said: str) -> CatalogError:
    return CatalogError(
        f"expected a constraint that JSON Schema has for this type, found {said:.120}; leave it out, "
        "check it in the function and say it in the description"
    )


def _of_types(schema: dict[str, Any], types: tuple[str, ...]) -> list[dict[str, Any]]:
    """The parts of a schema to which words for these types apply: itself or those of a union."""
    if isinstance(schema.get("anyOf"), list):
        return [part for one in schema["anyOf"] for part in _of_types(one, types)]
    # A schema without a type admits all, and JSON Schema ignores words for other types.
    return [schema] if schema.get("type", types[0]) in types else []


def _pass_on(schema: dict[str, Any], note: Any) -> None:
    if not is_field(note):
        return
    for name in _PASSED:
        value = getattr(note, name, None)
        if value is not None:
            schema[name] = to_json(value)
    more = getattr(note, "json_schema_extra", None)
    if isinstance(more, dict):
        schema.update(typing.cast("dict[str, Any]", more))
