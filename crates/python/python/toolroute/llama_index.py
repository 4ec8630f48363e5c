"""A retriever of tools for agents of LlamaIndex. Needs `llama-index-core`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Union

try:
    from llama_index.core.objects import ObjectRetriever
    from llama_index.core.schema import QueryBundle
    from llama_index.core.tools import BaseTool
except ImportError as error:
    said = "toolroute.llama_index needs llama-index-core; install it with `pip install llama-index-core`"
    raise ImportError(said) from error

from ._router import Router

__all__ = ["ToolRetriever"]


class ToolRetriever(ObjectRetriever[Any]):
    """Finds tools by what they are needed for.

        agent = FunctionAgent(tool_retriever=ToolRetriever(tools, k=8), llm=llm)

    Args:
        tools: The tools to choose from.
        k: How many tools to find at most.
    """

    def __init__(self, tools: Iterable[BaseTool], k: int = 8) -> None:
        self.router: Router[BaseTool] = Router(tools)
        self.k = k

    def retrieve(self, str_or_query_bundle: Union[str, QueryBundle]) -> list[BaseTool]:
        return self.router.select(_text(str_or_query_bundle), self.k).tools

    async def aretrieve(self, str_or_query_bundle: Union[str, QueryBundle]) -> list[BaseTool]:
        return await asyncio.to_thread(self.retrieve, str_or_query_bundle)


def _text(query: Union[str, QueryBundle]) -> str:
    return query if isinstance(query, str) else query.query_str
