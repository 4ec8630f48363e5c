"""Vectors of texts, and texts by how well they answer a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Optional, Union

from . import _toolroute

if TYPE_CHECKING:
    import numpy



def embed(
    texts: Sequence[str],
    *,
    role: Literal["document", "query"] = "document",
    model: Optional[str] = None,
) -> numpy.ndarray[tuple[int, int], numpy.dtype[numpy.float32]]:
    """The vectors of texts, of length 1: float32 of shape `[len(texts), 384]`. It needs numpy.

    Args:
        texts: Texts; each is cut at the model's window.
        role: The side of a search that the texts stand on; few models tell them apart.
        model: A name such as `static`, or a folder [default: the model of the package].

    >>> vectors = embed(["a train to Paris", "a railway to France", "fresh bread"])
    >>> vectors.shape
    (3, 384)
    >>> bool(vectors[0] @ vectors[1] > vectors[0] @ vectors[2])
    True
    """
    try:
        import numpy
    except ImportError as error:
        raise ImportError("embed needs numpy; install it with `pip install toolroute[numpy]`") from error
    vectors, width = _toolroute.embed(_listed(texts), role, model)
    return numpy.frombuffer(vectors, dtype=numpy.float32).reshape(len(texts), width)


class Ranked(NamedTuple):
    """A document, and how well it answers."""

    #: Its place among the documents that were given.
    place: int
    #: About 0 to 1; comparable within one call.
    score: float
    #: The document as it was given.
    document: Any


def rerank(
    query: str,
    documents: Sequence[Union[str, Mapping[str, Any]]],
    k: Optional[int] = None,
    *,
    model: Optional[str] = None,
) -> list[Ranked]:
    """Documents by how well they answer a query, best first, by meaning and words.

    Args:
        documents: Texts, or mappings with a member `text`.
        k: How many to return at most [default: all].

    >>> rerank("trains to Paris", ["a boat trip", "the Paris train"], k=1)[0].document
    'the Paris train'
    """
    texts = [_text(document) for document in documents]
    ranked = _toolroute.rerank(query, texts, model)
    return [Ranked(index, score, documents[index]) for index, score in ranked[:k]]


def _text(document: Union[str, Mapping[str, Any]]) -> str:
    text = document if isinstance(document, str) else document.get("text")
    if not isinstance(text, str):
        raise TypeError(f"expected a text or a mapping with `text`, found {document!r:.80}")
    return text


def _listed(texts: Sequence[str]) -> Sequence[str]:
    if isinstance(texts, str):
        raise TypeError("expected a list of texts, found one text; write [text]")
    return list(texts)
