"""Tools chosen for each step of an agent of the OpenAI Agents SDK. Needs `openai-agents`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

try:
    from agents import Model, ModelResponse, Tool
except ImportError as error:
    said = "toolroute.openai_agents needs openai-agents; install it with `pip install openai-agents`"
    raise ImportError(said) from error

from . import _options
from ._router_cache import RouterCache

__all__ = ["ToolSelectingModel"]


class ToolSelectingModel(Model):
    """A model that sees only the tools that the conversation needs.

    The agent keeps all of its tools; each request to the model has at most `k` of them, those that
    the conversation used, and those that the provider runs.

        agent = Agent(name="Agent", tools=tools, model=ToolSelectingModel(model, k=8))

    Args:
        model: The model that answers.
        k: How many tools to keep at most.
    """

    def __init__(self, model: Model, k: int = 8) -> None:
        if not callable(getattr(model, "get_response", None)):
            name = model if isinstance(model, str) else "gpt-5"
            raise TypeError(
                f"model={model!r:.80}: expected a Model of the package agents; write "
                f"ToolSelectingModel(agents.MultiProvider().get_model({name!r}))"
            )
        self.model = model
        self.k = _options.limit(k)
        self._routers = RouterCache()

    async def get_response(
        self, system_instructions: Any, input: Any, model_settings: Any, tools: Any, *rest: Any, **options: Any
    ) -> ModelResponse:
        kept = await asyncio.to_thread(self._kept, input, tools)
        return await self.model.get_response(
            system_instructions, input, model_settings, kept, *rest, **options
        )

    async def stream_response(
        self, system_instructions: Any, input: Any, model_settings: Any, tools: Any, *rest: Any, **options: Any
    ) -> AsyncIterator[Any]:
        kept = await asyncio.to_thread(self._kept, input, tools)
        stream = self.model.stream_response(
            system_instructions, input, model_settings, kept, *rest, **options
        )
        async for event in stream:
            yield event

    async def close(self) -> None:
        await self.model.close()

    def _kept(self, input: Any, tools: list[Tool]) -> list[Tool]:
        # A tool without parameters of ours, such as a search that OpenAI runs, stays.
        functions = [tool for tool in tools if hasattr(tool, "params_json_schema")]
        kept = self._routers.of(functions).filter({"input": input}, self.k)
        kept_ids = {id(tool) for tool in kept}
        is_function = {id(tool) for tool in functions}
        return [tool for tool in tools if id(tool) not in is_function or id(tool) in kept_ids]
