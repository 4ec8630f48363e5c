"""Vectors and reranking."""

from __future__ import annotations

import subprocess
import sys

import pytest

import toolroute


def test_vectors_are_float32_of_length_1():
    numpy = pytest.importorskip("numpy")
    vectors = toolroute.embed(["a train to Paris", "fresh bread"] * 40)
    assert vectors.shape == (80, 384) and vectors.dtype == numpy.float32
    assert numpy.allclose(numpy.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert numpy.array_equal(vectors[0], vectors[2])
    vectors[0, 0] = 1.0
    assert toolroute.embed([], model="static").shape[0] == 0
    with pytest.raises(TypeError, match=r"write \[text\]"):
        toolroute.embed("a train")


def test_documents_are_ranked_and_cut():
    documents = [{"text": "a boat trip"}, "the Paris train", "a cake"]
    ranked = toolroute.rerank("trains to Paris", documents, k=2)
    assert ranked[0].document == "the Paris train" and ranked[0].place == 1 and len(ranked) == 2
    assert ranked[0].score > ranked[1].score
    with pytest.raises(toolroute.RequestError, match="empty"):
        toolroute.rerank("", ["a"])


def test_numpy_is_imported_only_by_embed():
    program = "import sys, toolroute; assert 'numpy' not in sys.modules; toolroute.rerank('a', ['b'])"
    subprocess.run([sys.executable, "-c", program], check=True)
