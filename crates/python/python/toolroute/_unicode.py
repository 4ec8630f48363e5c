"""Texts that the engine can read."""

from __future__ import annotations


def encodable(text: str) -> str:
    """The text with `?` for each half of a surrogate pair, which UTF-8 cannot express.

    >>> encodable("caf\\ud83d")
    'caf?'
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    except AttributeError:
        raise TypeError(f"expected a text, found {text!r:.80}") from None
    return text
