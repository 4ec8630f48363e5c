"""Definitions of Python functions as tools: names and types from the signature, words from the
docstring.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import functools
import inspect
import math
import pathlib
import re
import typing
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Optional

from ._errors import CatalogError

#: The JSON types of Python's own.
_PLAIN: dict[Any, str] = {
    str: "string",
    bytes: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}

#: Other types of Python, as JSON writes them.
_FORMATS: dict[Any, dict[str, str]] = {
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    pathlib.Path: {"type": "string"},
    decimal.Decimal: {"type": "number"},
}

#: Deeper types are any type: a type may contain itself.
_MAX_DEPTH = 6

_SECTION = re.compile(
    r"^(args|arguments|parameters|params|returns?|yields?|raises|examples?|notes?|see also|"
    r"attributes|warns|warnings|references)\s*:?\s*$",
    re.IGNORECASE,
)
_ARGUMENTS = re.compile(r"^(args|arguments|parameters|params)\s*:?\s*$", re.IGNORECASE)
_SPHINX = re.compile(r"^:(?:param|parameter|arg|argument)\s+(?:[^:]*\s)?(\w+):\s*(.*)$")
_GOOGLE = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s+(.*)$")
_NUMPY = re.compile(r"^\*{0,2}(\w+)\s*(?::\s*.*)?$")


def definition(function: Callable[..., Any]) -> dict[str, Any]:
    """A function as a tool, in MCP's form.

    >>> def add(a: int, b: int = 0) -> int:
    ...     '''Adds two numbers.
    ...
    ...     Args:
    ...         a: The first number.
    ...     '''
    >>> definition(add)["inputSchema"]["properties"]["a"]
    {'type': 'integer', 'description': 'The first number.'}
    >>> definition(add)["inputSchema"]["required"]
    ['a']
    """
    described, words = _documentation(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    hints = type_hints(function)
    for parameter in _parameters(function):
        schema = json_schema(hints.get(parameter.name, Any))
        if parameter.name in words:
            schema.setdefault("description", words[parameter.name])
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        elif _is_json(parameter.default):
            schema["default"] = parameter.default
        properties[parameter.name] = schema
    schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    shared: dict[str, Any] = {}
    _take_definitions(properties, shared)
    if shared:
        schema["$defs"] = shared
    return {"name": _name(function), "description": described, "inputSchema": schema}


def json_schema(hint: Any, depth: int = 0) -> dict[str, Any]:
    """The JSON Schema of a type; an empty one, which admits anything, for a type that has none.

    >>> json_schema(typing.Optional[list[int]])
    {'anyOf': [{'type': 'array', 'items': {'type': 'integer'}}, {'type': 'null'}]}
    """
    if depth > _MAX_DEPTH:
        return {}
    if isinstance(hint, type) and hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if isinstance(hint, type) and hint in _FORMATS:
        return dict(_FORMATS[hint])
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _annotated(parts, depth)
    if origin is typing.Literal:
        return _one_of(part.value if isinstance(part, enum.Enum) else part for part in parts)
    if origin is typing.Union or type(hint).__name__ == "UnionType":
        return {"anyOf": [json_schema(part, depth + 1) for part in parts]}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _one_of(member.value for member in hint)
    if callable(getattr(hint, "model_json_schema", None)):
        return typing.cast("dict[str, Any]", hint.model_json_schema())
    if dataclasses.is_dataclass(hint) or hasattr(hint, "__required_keys__"):
        return _fields(hint, depth)
    return _container(origin or hint, parts, depth)


def _take_definitions(schema: Any, shared: dict[str, Any]) -> None:
    """Moves the `$defs` of the parts of a schema to `shared`: references are read from its root. Two
    types of one name stay apart: the second is renamed, with the references to it.
    """
    parts = list(schema.values()) if isinstance(schema, dict) else schema
    if not isinstance(parts, list):
        return
    for part in parts:
        _take_definitions(part, shared)
    own = schema.get("$defs") if isinstance(schema, dict) else None
    # A parameter may have that name too; it has a type.
    if not isinstance(own, dict) or "type" in own:
        return
    del schema["$defs"]
    count, names = 1, {name: name for name in own}
    moved = own
    while any(shared.get(name, part) != part for name, part in moved.items()):
        count += 1
        names = {name: f"{name}_{count}" for name in own}
        moved = {names[name]: _renamed(part, names) for name, part in own.items()}
    shared.update(moved)
    if count > 1:
        renamed = _renamed(schema, names)
        schema.clear()
        schema.update(renamed)


def _renamed(part: Any, names: Mapping[str, str]) -> Any:
    """A copy of a part of a schema whose references have new names."""
    prefix = "#/$defs/"
    if isinstance(part, dict):
        return {key: _renamed(value, names) for key, value in part.items()}
    if isinstance(part, list):
        return [_renamed(value, names) for value in part]
    if isinstance(part, str) and part.startswith(prefix) and part[len(prefix) :] in names:
        return prefix + names[part[len(prefix) :]]
    return part


def _one_of(values: Iterable[Any]) -> dict[str, Any]:
    listed = list(values)
    return {"enum": listed} if all(map(_is_json, listed)) else {}


def _annotated(parts: tuple[Any, ...], depth: int) -> dict[str, Any]:
    schema = json_schema(parts[0], depth)
    for note in parts[1:]:
        words = note if isinstance(note, str) else getattr(note, "description", None)
        if isinstance(words, str):
            schema["description"] = words
            break
    return schema


def _container(kind: Any, parts: tuple[Any, ...], depth: int) -> dict[str, Any]:
    if not isinstance(kind, type):
        return {}
    if issubclass(kind, (list, tuple, set, frozenset)) or kind.__name__ in ("Sequence", "Iterable", "Set"):
        inner = [part for part in parts if part is not Ellipsis]
        schema: dict[str, Any] = {"type": "array"}
        if inner and all(part == inner[0] for part in inner):
            schema["items"] = json_schema(inner[0], depth + 1)
        return schema
    if issubclass(kind, Mapping):
        schema = {"type": "object"}
        if len(parts) == 2:
            schema["additionalProperties"] = json_schema(parts[1], depth + 1)
        return schema
    return {}


def _fields(kind: Any, depth: int) -> dict[str, Any]:
    """The schema of a dataclass or a `TypedDict`."""
    hints = type_hints(kind)
    if dataclasses.is_dataclass(kind):
        missing = dataclasses.MISSING
        required = [
            field.name
            for field in dataclasses.fields(kind)
            if field.default is missing and field.default_factory is missing
        ]
    else:
        required = [name for name in hints if name in kind.__required_keys__]
    properties = {name: json_schema(hint, depth + 1) for name, hint in hints.items()}
    return {"type": "object", "properties": properties, "required": required}


def type_hints(subject: Any) -> dict[str, Any]:
    """The types of the parameters of a function, or of the members of a class, by name."""
    if isinstance(subject, functools.partial):
        subject = subject.func
    if not (inspect.isroutine(subject) or isinstance(subject, type)):
        subject = type(subject).__call__
    try:
        return typing.get_type_hints(subject, include_extras=True)
    except Exception:
        # A name that only a type checker knows: the parameters are then of any type.
        return {}


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one for one in signature.parameters.values() if one.kind not in variable]


def _documented(function: Callable[..., Any]) -> Any:
    return function.func if isinstance(function, functools.partial) else function


def _documentation(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """What the docstrings of a function, or of an object's class and its `__call__`, say of it and of
    its parameters.
    """
    subject = _documented(function)
    subjects = [subject]
    if not (inspect.isroutine(subject) or isinstance(subject, type)):
        # Not that of a built-in class, whose docstring is the same for all of them.
        called = type(subject).__call__
        subjects.extend([called] if inspect.isfunction(called) else [])
    described: list[str] = []
    words: dict[str, str] = {}
    for one in subjects:
        said, of_parameters = _read_docstring(inspect.getdoc(one) or "")
        described.extend([said] if said else [])
        words.update(of_parameters)
    return "\n\n".join(described), words


def _name(function: Callable[..., Any]) -> str:
    subject = _documented(function)
    name: Optional[str] = getattr(subject, "__name__", None) or type(subject).__name__
    if not name or name == "<lambda>":
        raise CatalogError(
            "a lambda has no name to be found by; expected a function with a name, "
            "or a mapping with `name` and `description`"
        )
    return name


def _is_json(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (str, int))


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """What a docstring says of the function and of its parameters, as Google, NumPy or Sphinx
    write it.
    """
    lines = text.splitlines()
    described: list[str] = []
    for line in lines:
        if _SECTION.match(line.strip()) or line.strip().startswith((":param", ":return", ":raise", ">>>")):
            break
        described.append(line)
    return "\n".join(described).strip(), _parameter_words(lines)


def _parameter_words(lines: list[str]) -> dict[str, str]:
    words: dict[str, str] = {}
    inside, is_numpy, margin, current = False, False, -1, ""
    for line in lines:
        stripped, indent = line.strip(), len(line) - len(line.lstrip())
        sphinx = _SPHINX.match(stripped)
        if sphinx:
            words[sphinx[1]] = sphinx[2].strip()
            continue
        if _SECTION.match(stripped):
            inside, is_numpy, margin, current = bool(_ARGUMENTS.match(stripped)), False, -1, ""
            continue
        if stripped and set(stripped) == {"-"}:
            is_numpy = True
            continue
        if not inside or not stripped:
            continue
        if margin < 0:
            margin = indent
        found = (_NUMPY if is_numpy else _GOOGLE).match(stripped) if indent <= margin else None
        if found:
            current = found[1]
            words[current] = "" if is_numpy else found[2].strip()
        elif current:
            words[current] = f"{words[current]} {stripped}".strip()
    return {name: said for name, said in words.items() if said}
