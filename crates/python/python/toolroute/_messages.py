"""Conversations of every kind as the messages of a request to a language model."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Optional, Union

from ._errors import RequestError
from ._unicode import encodable

#: What `Router.filter` takes as a conversation.
Messages = Union[str, Mapping[str, Any], Iterable[Any]]

#: LangChain's names of roles, in OpenAI's words.
_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system", "function": "tool"}

#: The roles of all providers. A mistyped one would hide what the user wants, and all tools would be kept.
_KNOWN_ROLES = (*_ROLES, "user", "assistant", "developer", "model", "chatbot", "critic", "discriminator", "unknown")

#: One of these is a member of every message, and of every item of OpenAI's responses.
_MEMBERS = ("content", "type", "tool_calls", "function_call")


def body(messages: Messages) -> str:
    """The body of a request with these messages, as JSON.

    A text is one message of the user. A mapping is a message, or a whole request, of which the
    messages, `prompt` or `query`, and the forced tool are read.

    Raises:
        RequestError: Something else is among the messages.
    """
    try:
        return encodable(json.dumps(_request(messages), ensure_ascii=False, default=_plain))
    except RequestError:
        raise
    except (TypeError, ValueError) as error:
        raise RequestError(f"expected messages that can be written as JSON: {error}") from error


def says_something(prompt: str) -> bool:
    """Whether a prompt has a letter or a digit: the engine takes any other one as empty."""
    return any(map(str.isalnum, prompt))


def prompt_of(mapping: Mapping[str, Any]) -> Optional[str]:
    """The text of `prompt` or `query`; `None` without one. A template of a provider is no text.

    Raises:
        RequestError: Both are there with different texts.
    """
    found = [mapping[name] for name in ("prompt", "query") if isinstance(mapping.get(name), str)]
    if len(set(found)) > 1:
        raise RequestError("expected `prompt` or `query`, found both with different texts; leave one out")
    return found[0] if found else None


def _request(messages: Any) -> dict[str, Any]:
    if callable(getattr(messages, "to_messages", None)):
        # A prompt of LangChain.
        messages = messages.to_messages()
    if not isinstance(messages, Mapping) or not _is_request(messages):
        return {"messages": _listed(messages)}
    kept = ("messages", "input", "tool_choice", "function_call")
    request = {name: messages[name] for name in kept if name in messages}
    for name in ("messages", "input"):
        if name in request:
            request[name] = _listed(request[name])
    prompt = prompt_of(messages)
    if prompt is not None:
        # What the messages say came before it, as in the HTTP API.
        last = "input" if "input" in request else "messages"
        said = {"role": "user", "content": prompt}
        before = request.get(last, [])
        request[last] = before if before[-1:] == [said] else [*before, said]
    return request


def _is_request(mapping: Mapping[str, Any]) -> bool:
    if "role" in mapping:
        return False
    if "messages" in mapping or "input" in mapping or prompt_of(mapping) is not None:
        return True
    members = ", ".join(map(str, mapping)) or "no member"
    raise RequestError(
        f"expected a request with `messages`, `input` or `prompt`, found one with {members}"
    )


def _listed(messages: Any) -> list[Any]:
    if isinstance(messages, (str, Mapping)) or hasattr(messages, "content"):
        messages = [messages]
    elif isinstance(messages, (bytes, bytearray)) or not isinstance(messages, Iterable):
        raise RequestError(f"expected messages or a text, found {messages!r:.80}")
    return [_with_parts(_message(one)) for one in messages]


def _message(message: Any) -> Any:
    if isinstance(message, str):
        return {"role": "user", "content": message}
    if isinstance(message, Mapping):
        if not any(name in message for name in _MEMBERS):
            raise RequestError(f"expected a message with `role` and `content`, found {message!r:.80}")
        role = _role(message.get("role"))
        # `function` is OpenAI's own too.
        return {**message, "role": _ROLES[role]} if role in ("human", "ai") else message
    if isinstance(message, tuple) and len(message) == 2:
        role, content = message
        name = _role(role) or ""
        return {"role": _ROLES.get(name, name), "content": content}
    kind = getattr(message, "type", None)
    # A part of a message that arrives piece by piece has the type `AIMessageChunk`.
    role = _ROLES.get(kind.replace("MessageChunk", "").lower()) if isinstance(kind, str) else None
    if role is not None and hasattr(message, "content"):
        calls = getattr(message, "tool_calls", None) or []
        found: dict[str, Any] = {"role": role, "content": message.content}
        found["tool_calls"] = [{"function": {"name": call["name"]}} for call in calls]
        if role == "tool":
            found["name"] = getattr(message, "name", None)
        return found
    return _plain(message)


def _with_parts(message: Any) -> Any:
    """A message whose content is a text or a list of parts; a part that stands alone is what the user says.

    Raises:
        RequestError: The user says something else, which nobody could read.
    """
    if not isinstance(message, Mapping):
        return message
    if "role" not in message and message.get("type") in ("text", "input_text"):
        return {"role": "user", "content": [message]}
    content = message.get("content", "")
    if isinstance(content, Mapping) or isinstance(getattr(content, "text", None), str):
        return {**message, "content": [content]}
    is_read = isinstance(content, str) or (isinstance(content, (list, tuple)) and not any(map(_is_bare, content)))
    if message.get("role") == "user" and not is_read:
        raise RequestError(
            f"expected the content of a message as a text or a list of parts, each with `type` and `text`, "
            f"found {content!r:.80}"
        )
    return message


def _is_bare(part: Any) -> bool:
    return part is None or isinstance(part, (int, float))


def _role(role: Any) -> Optional[str]:
    """
    Raises:
        RequestError: No provider has this role.
    """
    name = getattr(role, "value", role)
    if name is None or name in _KNOWN_ROLES:
        return None if name is None else str(name)
    near = difflib.get_close_matches(str(name).lower(), _KNOWN_ROLES, 1)
    cure = f"did you mean {near[0]!r}?" if near else "use 'user' for what the user says"
    raise RequestError(f"role={name!r:.80}: expected one of {', '.join(_KNOWN_ROLES)}; {cure}")


def _plain(value: Any) -> Any:
    """An object of a library as plain data."""
    if isinstance(value, (bytes, bytearray)):
        # Of an image.
        return None
    if isinstance(value, Mapping):
        return dict(value)
    if callable(getattr(value, "model_dump", None)):
        found = value.model_dump(mode="json", exclude_none=True)
        blocks = found.get("blocks")
        if isinstance(blocks, list) and "content" not in found:
            # A message of LlamaIndex: its text, and the tools that it calls.
            names = [block["tool_name"] for block in blocks if "tool_name" in block]
            found["content"] = value.content
            found["tool_calls"] = [{"function": {"name": name}} for name in names]
        return found
    if hasattr(value, "role") and hasattr(value, "content"):
        role = getattr(value.role, "value", value.role)
        return {"role": str(role), "content": value.content}
    raise RequestError(f"expected a message with `role` and `content`, found {value!r:.80}")
