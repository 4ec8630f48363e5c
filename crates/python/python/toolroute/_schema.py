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
import pathlib
import sys
import typing
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Optional

from ._constraints import annotate, default_of, is_field, is_json, to_json
from ._docstrings import documentation
from ._errors import CatalogError
from ._frameworks import gives

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
    datetime.timedelta: {"type": "string", "format": "duration"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    pathlib.Path: {"type": "string"},
    decimal.Decimal: {"type": "number"},
}

#: Deeper types are any type: a type may contain itself.
_MAX_DEPTH = 6


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
    _check_bound(function)
    described, words = documentation(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    hints = type_hints(function)
    for parameter in parameters_of(function):
        hint = hints.get(parameter.name, Any)
        schema = _of_parameter(parameter, hint)
        if parameter.name in words:
            schema.setdefault("description", words[parameter.name])
        may_be_left_out, default = default_of(parameter, hint)
        if may_be_left_out:
            _add_default(schema, default)
        else:
            required.append(parameter.name)
        properties[parameter.name] = schema
    schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    others = other_names(function)
    if others is not None:
        schema["additionalProperties"] = json_schema(hints.get(others, Any)) or True
    shared: dict[str, Any] = {}
    _take_definitions(schema, shared)
    if shared:
        schema["$defs"] = shared
    found = {"name": _name(function), "description": described, "inputSchema": schema}
    notes = _annotations(function)
    return {**found, "annotations": dict(notes)} if isinstance(notes, Mapping) else found


def _check_bound(function: Callable[..., Any]) -> None:
    """
    Raises:
        CatalogError: It is a class, or a method without its object.
    """
    if isinstance(function, type):
        raise CatalogError(
            f"expected a function or an object, found the class `{function.__name__}`; give an object of it, "
            "or a function that makes one"
        )
    if [one.name for one in _free(function)[:1]] == ["self"]:
        raise CatalogError(
            f"expected a method of an object, found `{getattr(function, '__qualname__', function)}` of the "
            "class alone; make an object and give its method, as in `Shop().buy`"
        )


def _of_parameter(parameter: inspect.Parameter, hint: Any) -> dict[str, Any]:
    try:
        schema = json_schema(hint)
        if is_field(parameter.default):
            annotate(schema, [parameter.default])
    except CatalogError as error:
        raise CatalogError(f"`{parameter.name}`: {error}") from None
    return schema


def _add_default(schema: dict[str, Any], default: Any) -> None:
    try:
        schema["default"] = to_json(default)
    except TypeError:
        # An object of Python alone, such as a mark for "not given".
        pass


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
    inner = aliased(hint)
    if inner is not None:
        return json_schema(inner, depth + 1)
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        schema = json_schema(parts[0], depth)
        annotate(schema, parts[1:])
        return schema
    if origin is typing.Literal:
        return _one_of(parts)
    if origin is typing.Union or type(hint).__name__ == "UnionType":
        return {"anyOf": [json_schema(part, depth + 1) for part in parts]}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _one_of(hint)
    if callable(getattr(hint, "model_json_schema", None)):
        return typing.cast("dict[str, Any]", hint.model_json_schema())
    adapter = pydantic_adapter(hint)
    if adapter is not None:
        return typing.cast("dict[str, Any]", adapter.json_schema())
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


def aliased(hint: Any) -> Any:
    """The type that a hint is another name of or says more of: a `NewType`, `type X = …`, `NotRequired`;
    `None` for any other hint.
    """
    if callable(getattr(hint, "__supertype__", None)):
        return hint.__supertype__
    if type(hint).__name__ == "TypeAliasType":
        return hint.__value__
    if getattr(typing.get_origin(hint), "_name", None) in ("Required", "NotRequired", "ReadOnly"):
        return typing.get_args(hint)[0]
    return None


def pydantic_adapter(hint: Any) -> Any:
    """pydantic's adapter of a type that only pydantic can describe and read, such as `EmailStr`."""
    is_own = isinstance(hint, type) and callable(getattr(hint, "__get_pydantic_core_schema__", None))
    if not (is_own or hasattr(hint, "__pydantic_validator__")):
        return None
    adapter: Any = getattr(sys.modules.get("pydantic"), "TypeAdapter", None)
    return None if adapter is None else adapter(hint)


def _one_of(members: Iterable[Any]) -> dict[str, Any]:
    listed = list(members)
    values = [one.value if isinstance(one, enum.Enum) else one for one in listed]
    if all(map(is_json, values)):
        return {"enum": values}
    # JSON has no such values: members are meant by their names.
    are_named = all(isinstance(one, enum.Enum) for one in listed)
    return {"enum": [one.name for one in listed]} if are_named else {}


def _container(kind: Any, parts: tuple[Any, ...], depth: int) -> dict[str, Any]:
    if not isinstance(kind, type):
        return {}
    if issubclass(kind, (list, tuple, set, frozenset)) or kind.__name__ in ("Sequence", "Iterable", "Set"):
        if hasattr(kind, "_fields"):
            return _named_tuple(kind, depth)
        inner = [part for part in parts if part is not Ellipsis]
        schema: dict[str, Any] = {"type": "array"}
        if inner and all(part == inner[0] for part in inner):
            schema["items"] = json_schema(inner[0], depth + 1)
        elif inner:
            schema["prefixItems"] = [json_schema(part, depth + 1) for part in inner]
        if issubclass(kind, tuple) and inner and Ellipsis not in parts:
            schema.update({"minItems": len(inner), "maxItems": len(inner)})
        return schema
    if issubclass(kind, Mapping):
        schema = {"type": "object"}
        if len(parts) == 2:
            schema["additionalProperties"] = json_schema(parts[1], depth + 1)
        return schema
    return {}


def _named_tuple(kind: Any, depth: int) -> dict[str, Any]:
    hints = type_hints(kind)
    items = [{"title": name, **json_schema(hints.get(name, Any), depth + 1)} for name in kind._fields]
    least = len(items) - len(kind._field_defaults)
    return {"type": "array", "prefixItems": items, "minItems": least, "maxItems": len(items)}


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
    for field in dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ():
        if field.default is not dataclasses.MISSING and field.name in properties:
            _add_default(properties[field.name], field.default)
    return {"type": "object", "properties": properties, "required": required}


def type_hints(subject: Any) -> dict[str, Any]:
    """The types of the parameters of a function, or of the members of a class, by name."""
    while isinstance(subject, functools.partial):
        subject = subject.func
    if not (inspect.isroutine(subject) or isinstance(subject, type)):
        subject = type(subject).__call__
    try:
        return typing.get_type_hints(subject, include_extras=True)
    except Exception:
        return _known_hints(subject)


def _known_hints(subject: Any) -> dict[str, Any]:
    """The types of those parameters whose annotations have no name that only a type checker knows: the
    others are then of any type.
    """
    found: dict[str, Any] = {}
    names = getattr(subject, "__globals__", None) or vars(sys.modules.get(subject.__module__, typing))
    for name, hint in getattr(subject, "__annotations__", {}).items():
        one = type("_One", (), {"__annotations__": {name: hint}})
        try:
            found.update(typing.get_type_hints(one, globalns=dict(names), include_extras=True))
        except Exception:
            continue
    return found


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function that callers may give by name."""
    hints = type_hints(function)
    return [one for one in _free(function) if not gives(hints.get(one.name))]


def given_names(function: Callable[..., Any]) -> list[str]:
    """The parameters without a default that only a framework can fill."""
    hints, empty = type_hints(function), inspect.Parameter.empty
    return [one.name for one in _free(function) if one.default is empty and gives(hints.get(one.name))]


def hidden_names(function: Callable[..., Any]) -> set[str]:
    """The parameters that no caller may see or give: what is bound, and what only a framework fills."""
    shown = {one.name for one in parameters_of(function)}
    return bound_names(function).union(one.name for one in _free(function)).difference(shown)


def _free(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function that have a name and are not bound."""
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    bound = bound_names(function)
    listed = _signature(function).values()
    return [one for one in listed if one.kind not in variable and one.name not in bound]


def other_names(function: Callable[..., Any]) -> Optional[str]:
    """The name of the parameter `**names`, which takes arguments by any other name."""
    for parameter in _signature(function).values():
        if parameter.kind is parameter.VAR_KEYWORD:
            return parameter.name
    return None


def bound_names(function: Callable[..., Any]) -> set[str]:
    """The parameters whose values a `functools.partial` has bound."""
    bound: set[str] = set()
    inner: Any = function
    while isinstance(inner, functools.partial):
        bound.update(inner.keywords)
        inner = inner.func
    if inner is not function:
        bound.update(set(_signature(inner)).difference(_signature(function)))
    return bound


def _signature(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _annotations(function: Callable[..., Any]) -> Any:
    """The annotations of MCP that were set on a function, or on a `functools.partial` of it."""
    while isinstance(function, functools.partial) and "annotations" not in vars(function):
        function = function.func
    return getattr(function, "annotations", None)


def _name(function: Callable[..., Any]) -> str:
    """The name of a function, or the one that was set on a `functools.partial` of it."""
    while isinstance(function, functools.partial) and "__name__" not in vars(function):
        function = function.func
    name: Optional[str] = getattr(function, "__name__", None) or type(function).__name__
    if not name or name == "<lambda>":
        raise CatalogError(
            "a lambda has no name to be found by; expected a function with a name, "
            "or a mapping with `name` and `description`"
        )
    return name
