"""Conversations of every kind as the messages of a request to a language model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Union

#: LangChain's names of roles, in OpenAI's words.
_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system", "function": "tool"}


def body(messages: Union[str, Mapping[str, Any], Iterable[Any]]) -> str:
    """The body of a request with these messages, as JSON.

    A text is one message of the user. A mapping is a whole request, of which the messages and the
    forced tool are read.
    """
    if isinstance(messages, str):
        request: dict[str, Any] = {"messages": [{"role": "user", "content": messages}]}
    elif isinstance(messages, Mapping) and "role" not in messages:
        kept = ("messages", "input", "tool_choice", "function_call")
        request = {name: messages[name] for name in kept if name in messages}
        if "messages" in request:
            request["messages"] = [_message(one) for one in request["messages"]]
    elif isinstance(messages, Mapping):
        request = {"messages": [messages]}
    else:
        request = {"messages": [_message(one) for one in messages]}
    return json.dumps(request, ensure_ascii=False, default=_plain)


def _message(message: Any) -> Any:
    if isinstance(message, (str, Mapping)):
        return {"role": "user", "content": message} if isinstance(message, str) else message
    if isinstance(message, tuple) and len(message) == 2:
        role, content = message
        return {"role": _ROLES.get(role, role), "content": content}
    kind = getattr(message, "type", None)
    if isinstance(kind, str) and kind in _ROLES and hasattr(message, "content"):
        calls = getattr(message, "tool_calls", None) or []
        found: dict[str, Any] = {"role": _ROLES[kind], "content": message.content}
        found["tool_calls"] = [{"function": {"name": call["name"]}} for call in calls]
        if kind == "tool":
            found["name"] = getattr(message, "name", None)
        return found
    return _plain(message)


def _plain(value: Any) -> Any:
    """An object of a library as plain data."""
    if callable(getattr(value, "model_dump", None)):
        return value.model_dump(mode="json", exclude_none=True)
    if hasattr(value, "role") and hasattr(value, "content"):
        role = getattr(value.role, "value", value.role)
        return {"role": str(role), "content": value.content}
    raise TypeError(f"expected a message, a mapping with `role` and `content`; found {value!r:.80}")
