"""What docstrings say of a function and of its parameters, as Google, NumPy or Sphinx write them."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

_TITLES = (
    r"args|arguments|parameters|params|returns?|yields?|raises|examples?|notes?|see also|"
    r"attributes|warns|warnings|references"
)
_SECTION = re.compile(rf"^({_TITLES})\s*(:?)$", re.IGNORECASE)
_ARGUMENTS = re.compile(r"^(args|arguments|parameters|params)\s*:?$", re.IGNORECASE)
_SPHINX = re.compile(r"^:(?:param|parameter|arg|argument)\s+(?:[^:]*\s)?(\w+):\s*(.*)$")
_GOOGLE = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s+(.*)$")
_NUMPY = re.compile(r"^\*{0,2}(\w+)\s*(?::\s*.*)?$")


def documentation(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """What the docstrings of a function, or of an object's class and its `__call__`, say of it and of
    its parameters. The `__doc__` that was set on a `functools.partial` comes before that of its function.
    """
    own = ""
    while isinstance(function, functools.partial):
        own = own or vars(function).get("__doc__") or ""
        function = function.func
    subjects: list[Any] = [function]
    if not (inspect.isroutine(function) or isinstance(function, type)):
        # Not that of a built-in class, whose docstring is the same for all of them.
        called = type(function).__call__
        subjects.extend([called] if inspect.isfunction(called) else [])
    described: list[str] = []
    words: dict[str, str] = {}
    for one in subjects:
        said, of_parameters = read(inspect.getdoc(one) or "")
        described.extend([said] if said else [])
        words.update(of_parameters)
    said, of_parameters = read(inspect.cleandoc(own))
    return said or "\n\n".join(described), {**words, **of_parameters}


def read(text: str) -> tuple[str, dict[str, str]]:
    """What a docstring says of the function and of its parameters.

    >>> read('''Adds.
    ...
    ... :param a: The first
    ...     number.
    ... ''')
    ('Adds.', {'a': 'The first number.'})
    """
    lines = text.splitlines()
    described: list[str] = []
    for place, line in enumerate(lines):
        fields = (":param", ":arg", ":return", ":raise", ">>>")
        if _is_title(lines, place) or line.strip().startswith(fields):
            break
        described.append(line)
    return "\n".join(described).strip(), {**_parameter_words(lines), **_sphinx_words(lines)}


def _is_title(lines: list[str], place: int) -> bool:
    """Whether a line begins a section. One word that is the whole first line is a description."""
    found = _SECTION.match(lines[place].strip())
    if found is None:
        return False
    below = lines[place + 1].strip() if place + 1 < len(lines) else ""
    return place > 0 or bool(found[2]) or (bool(below) and set(below) == {"-"})


def _parameter_words(lines: list[str]) -> dict[str, str]:
    """Of Google and NumPy."""
    words: dict[str, str] = {}
    inside, is_numpy, margin, current = False, False, -1, ""
    for place, line in enumerate(lines):
        stripped, indent = line.strip(), len(line) - len(line.lstrip())
        if _is_title(lines, place):
            inside, is_numpy, margin, current = bool(_ARGUMENTS.match(stripped)), False, -1, ""
            continue
        if stripped and set(stripped) == {"-"}:
            is_numpy = True
            continue
        if not inside or not stripped or stripped.startswith(":"):
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


def _sphinx_words(lines: list[str]) -> dict[str, str]:
    """Of Sphinx, whose fields go on in lines that are indented more."""
    words: dict[str, str] = {}
    margin, current = 0, ""
    for line in lines:
        stripped, indent = line.strip(), len(line) - len(line.lstrip())
        found = _SPHINX.match(stripped)
        if found:
            margin, current = indent, found[1]
            words[current] = found[2].strip()
        elif not stripped or indent <= margin or stripped.startswith(":"):
            current = ""
        elif current:
            words[current] = f"{words[current]} {stripped}".strip()
    return {name: said for name, said in words.items() if said}
