"""Tools chosen for each step of an agent of LangChain or LangGraph. Needs `langchain`.

`ToolSelector` is a middleware for `langchain.agents.create_agent`; `select_model` is a model for
LangGraph's `create_react_agent`; `retrieve_tools` is the retriever of `langgraph-bigtool`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from . import _options
from ._messages import says_something
from ._router import Router
from ._router_cache import RouterCache

if TYPE_CHECKING:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest
else:
    try:
        from langchain.agents.middleware import AgentMiddleware
    except ImportError:
        # `select_model` and `retrieve_tools` need less.
        AgentMiddleware = object

Answer = TypeVar("Answer")

__all__ = ["ToolSelector", "retrieve_tools", "select_model"]


class ToolSelector(AgentMiddleware):
    """Shows the model only the tools that the conversation needs.

    The agent keeps all of its tools; each call of its model gets at most `k` of them, and those that
    the conversation used.

        agent = create_agent(model, tools, middleware=[ToolSelector(k=8)])

    Args:
        k: How many tools to keep at most.
    """

    def __init__(self, k: int = 8) -> None:
        if AgentMiddleware is object:
            raise ImportError("ToolSelector needs langchain; install it with `pip install langchain`")
        super().__init__()
        self.k = _options.limit(k)
        self._routers = RouterCache()

    def wrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Answer]
    ) -> Answer:
        kept = self._routers.of(request.tools).filter(request.messages, self.k)
        return handler(request.override(tools=kept))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Answer]]
    ) -> Answer:
        router = self._routers.of(request.tools)
        kept = await asyncio.to_thread(router.filter, request.messages, self.k)
        return await handler(request.override(tools=kept))


def select_model(model: Any, tools: Iterable[Any], k: int = 8) -> Callable[[Any, Any], Any]:
    """A model that is bound to the tools that the conversation needs, for `create_react_agent`.

        agent = create_react_agent(select_model(model, tools), tools)

    Args:
        model: A chat model with `bind_tools`.
        tools: The tools of the agent.
        k: How many tools to keep at most.
    """
    router, most = Router(tools), _options.limit(k)

    def select(state: Any, _runtime: Any) -> Any:
        messages = state["messages"] if isinstance(state, Mapping) else state.messages
        return model.bind_tools(router.filter(messages, most))

    return select


def retrieve_tools(registry: Mapping[str, Any], k: int = 8) -> Callable[[str], list[str]]:
    """The keys of a registry's tools for a query, for the `create_agent` of `langgraph-bigtool`. A query
    without a letter or a digit finds none, and the model may ask again.

        create_agent(model, registry, retrieve_tools_function=retrieve_tools(registry))

    Args:
        registry: Tools by key.
        k: How many tools to find at most.
    """
    router, most = Router(registry.values()), _options.limit(k)
    keys = {id(tool): key for key, tool in registry.items()}

    def retrieve_tools(query: str) -> list[str]:
        """Find tools by what they are needed for."""
        found = router.select(query, most).tools if says_something(query) else []
        return [keys[id(tool)] for tool in found]

    return retrieve_tools
