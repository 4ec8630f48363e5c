"""Vectors of texts, and texts by how well they answer a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Optional, Union

from . import _options, _toolroute
from ._unicode import encodable

if TYPE_CHECKING:
    import numpy


def embed(
    texts: Iterable[str],
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
        raise ImportError("embed needs numpy; install it with `pip install numpy`") from error
    listed = [encodable(text) for text in _listed("texts", texts)]
    vectors, width = _toolroute.embed(listed, role, model)
    return numpy.frombuffer(vectors, dtype=numpy.float32).reshape(len(listed), width)


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
    documents: Iterable[Union[str, Mapping[str, Any]]],
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
    listed = _listed("documents", documents)
    most = len(listed) if k is None else _options.limit(k)
    texts = [encodable(_text(document)) for document in listed]
    ranked = _toolroute.rerank(encodable(query), texts, model)
    return [Ranked(index, score, listed[index]) for index, score in ranked[:most]]


def _text(document: Any) -> str:
    text = document.get("text") if isinstance(document, Mapping) else document
    if not isinstance(text, str):
        raise TypeError(f"expected a text or a mapping with `text`, found {document!r:.80}")
    return text


def _listed(name: str, texts: Iterable[Any]) -> list[Any]:
    if isinstance(texts, (str, Mapping)):
        raise TypeError(f"expected a list of {name}, found one; write [{name[:-1]}]")
    return list(texts)
