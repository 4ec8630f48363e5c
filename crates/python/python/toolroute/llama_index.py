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

from . import _options
from ._messages import says_something
from ._router import Router

__all__ = ["ToolRetriever"]


class ToolRetriever(ObjectRetriever[Any]):
    """Finds tools by what they are needed for: all of them for a message without a letter or a digit,
    such as "👍", which answers what the agent asked.

        agent = FunctionAgent(tool_retriever=ToolRetriever(tools, k=8), llm=llm)

    Args:
        tools: The tools to choose from.
        k: How many tools to find at most.
    """

    def __init__(self, tools: Iterable[BaseTool], k: int = 8) -> None:
        self.router: Router[BaseTool] = Router(tools)
        self.k = _options.limit(k)

    def retrieve(self, str_or_query_bundle: Union[str, QueryBundle]) -> list[BaseTool]:
        query = _text(str_or_query_bundle)
        return self.router.select(query, self.k).tools if says_something(query) else self.router.tools

    async def aretrieve(self, str_or_query_bundle: Union[str, QueryBundle]) -> list[BaseTool]:
        return await asyncio.to_thread(self.retrieve, str_or_query_bundle)


def _text(query: Union[str, QueryBundle]) -> str:
    return query if isinstance(query, str) else query.query_str
