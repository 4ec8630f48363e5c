"""Agents of other packages, with a model that answers what the test says."""

from __future__ import annotations

import asyncio
import operator
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from conftest import book_flight, read_file

import toolroute
from toolroute import Router


def definitions() -> list[dict[str, str]]:
    names = ["send_email", "get_weather", "commit_changes", "play_music", "translate_text"]
    return [{"name": name, "description": name.replace("_", " ")} for name in names]


def test_tools_of_mcp():
    types = pytest.importorskip("mcp.types")
    tool = types.Tool.model_validate(
        {
            "name": "search",
            "description": "Searches the web",
            "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
            "annotations": {"readOnlyHint": True},
        }
    )
    router = Router([tool, *definitions()])
    assert router.select("look it up on the web", k=1)[0].tool is tool
    found = toolroute._tools.describe(tool)
    assert found["inputSchema"]["properties"] and found["annotations"] == {"readOnlyHint": True}


def langchain_tools() -> list[Any]:
    tools = pytest.importorskip("langchain_core.tools")
    made = [tools.tool(book_flight), tools.tool(read_file)]
    for row in definitions():
        made.append(tools.StructuredTool.from_function(lambda text: text, **row))
    return made


def chat_model(answers: list[Any]) -> Any:
    models = pytest.importorskip("langchain_core.language_models.fake_chat_models")

    class Model(models.FakeMessagesListChatModel):
        seen: list = []

        def bind_tools(self, tools: Any, **options: Any) -> Any:
            self.seen.append([tool.name for tool in tools])
            return self

    return Model(responses=answers)


def test_tools_of_langchain_are_described_ranked_and_called():
    tools = langchain_tools()
    router = Router(tools)
    hit = router.select("book me a flight to Lisbon", k=1)[0]
    assert hit.tool is tools[0]
    assert router.call(hit, {"city": "Lisbon"}) == "booked Lisbon for today"
    properties = toolroute._tools.describe(tools[0])["inputSchema"]["properties"]
    assert set(properties) == {"city", "day"}


def test_a_middleware_of_langchain():
    agents = pytest.importorskip("langchain.agents")
    messages = pytest.importorskip("langchain_core.messages")
    from toolroute.langchain import ToolSelector

    call = {"name": "book_flight", "args": {"city": "Lisbon"}, "id": "1"}
    answers = [messages.AIMessage("", tool_calls=[call]), messages.AIMessage("booked")]
    for ask in ("invoke", "ainvoke"):
        model = chat_model(answers)
        model.seen.clear()
        agent = agents.create_agent(model, langchain_tools(), middleware=[ToolSelector(k=1)])
        asked = {"messages": [("user", "book me a flight to Lisbon")]}
        found = getattr(agent, ask)(asked)
        found = asyncio.run(found) if ask == "ainvoke" else found
        assert found["messages"][-2].content == "booked Lisbon for today"
        assert model.seen == [["book_flight"]] * 2


@pytest.mark.filterwarnings("ignore")
def test_a_model_of_langgraph():
    prebuilt = pytest.importorskip("langgraph.prebuilt")
    messages = pytest.importorskip("langchain_core.messages")
    from toolroute.langchain import select_model

    model, tools = chat_model([messages.AIMessage("done")]), langchain_tools()
    model.seen.clear()
    agent = prebuilt.create_react_agent(select_model(model, tools, k=2), tools)
    agent.invoke({"messages": [("user", "what stands in the file notes.txt?")]})
    assert len(model.seen[0]) == 2 and "read_file" in model.seen[0]


@pytest.mark.filterwarnings("ignore")
def test_a_retriever_of_bigtool():
    bigtool = pytest.importorskip("langgraph_bigtool")
    messages = pytest.importorskip("langchain_core.messages")
    memory = pytest.importorskip("langgraph.store.memory")
    from toolroute.langchain import retrieve_tools

    registry = {f"key-{place}": tool for place, tool in enumerate(langchain_tools())}
    find = retrieve_tools(registry, k=1)
    assert find("book a flight") == ["key-0"]
    call = {"name": "retrieve_tools", "args": {"query": "book a flight"}, "id": "1"}
    model = chat_model([messages.AIMessage("", tool_calls=[call]), messages.AIMessage("done")])
    model.seen.clear()
    graph = bigtool.create_agent(model, registry, retrieve_tools_function=find)
    found = graph.compile(store=memory.InMemoryStore()).invoke({"messages": [("user", "fly")]})
    assert found["selected_tool_ids"] == ["key-0"]


def test_a_model_of_openai_agents():
    agents = pytest.importorskip("agents")
    from toolroute.openai_agents import ToolSelectingModel

    seen: list[list[str]] = []

    class Recorded(agents.Model):
        async def get_response(self, system, input, settings, tools, *rest, **options):
            seen.append([tool.name for tool in tools])
            output = pytest.importorskip("openai.types.responses")
            text = output.ResponseOutputText(text="done", type="output_text", annotations=[])
            message = output.ResponseOutputMessage(
                id="1", content=[text], role="assistant", status="completed", type="message"
            )
            return agents.ModelResponse(output=[message], usage=agents.Usage(), response_id=None)

        async def stream_response(self, *rest, **options):
            yield None

    agents.set_tracing_disabled(True)
    tools = [agents.function_tool(book_flight), agents.function_tool(read_file), agents.WebSearchTool()]
    agent = agents.Agent(name="Agent", tools=tools, model=ToolSelectingModel(Recorded(), k=1))
    result = asyncio.run(agents.Runner.run(agent, "book me a flight to Lisbon"))
    assert result.final_output == "done"
    assert seen == [["book_flight", tools[2].name]]


def test_agents_in_turn_embed_their_tools_once(monkeypatch: pytest.MonkeyPatch):
    from toolroute import _router_cache

    made: list[list[str]] = []

    class Counted(Router):  # type: ignore[type-arg]
        def __init__(self, tools: Any) -> None:
            made.append([tool["name"] for tool in tools])
            super().__init__(tools)

    monkeypatch.setattr(_router_cache, "Router", Counted)
    cache = _router_cache.RouterCache()

    def tools_of(agent: int) -> list[dict[str, str]]:
        return [{"name": f"{verb}_{agent}", "description": f"{verb.title()}s a file"} for verb in ("read", "write")]

    for _ in range(3):
        for agent in range(4):
            # Equal tools, but new objects, as a client of MCP makes them for each step.
            given = tools_of(agent)
            router = cache.of(given)
            assert all(map(operator.is_, router.tools, given)) and cache.of(given) is router
            kept = router.filter("read a file", k=1)
            assert len(kept) == 1 and kept[0] is given[0]
            assert router.select("read a file", k=1)[0].tool is given[0]
    assert len(made) == 4


def test_threads_get_the_router_of_their_own_tools():
    from toolroute._router_cache import RouterCache

    groups = [[{"name": f"read_{n}", "description": "Reads a file"}] for n in range(3)]
    cache, wrong, stop = RouterCache(), [], time.monotonic() + 2

    def work(place: int) -> None:
        while time.monotonic() < stop:
            tools = groups[place % 3]
            if cache.of(tools).tools[0] is not tools[0]:
                wrong.append(place)

    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=work, args=(place,)) for place in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(switch)
    assert wrong == []


@pytest.mark.filterwarnings("ignore")
def test_a_toolset_of_pydantic_ai():
    pydantic_ai = pytest.importorskip("pydantic_ai")
    models, parts = pytest.importorskip("pydantic_ai.models.function"), pytest.importorskip("pydantic_ai.messages")
    functions = [book_flight, read_file]
    router, seen = Router(functions), []

    async def needed(context: Any, definitions: list[Any]) -> list[Any]:
        kept = {tool.__name__ for tool in await router.afilter(context.prompt, k=1)}
        return [one for one in definitions if one.name in kept]

    def answer(_messages: Any, info: Any) -> Any:
        seen.append([tool.name for tool in info.function_tools])
        return parts.ModelResponse(parts=[parts.TextPart("done")])

    toolset = pydantic_ai.FunctionToolset(functions).prepared(needed)
    pydantic_ai.Agent(models.FunctionModel(answer), toolsets=[toolset]).run_sync("book me a flight to Lisbon")
    assert seen == [["book_flight"]]


def test_a_retriever_of_llama_index():
    tools = pytest.importorskip("llama_index.core.tools")
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.llms import MockLLM

    from toolroute.llama_index import ToolRetriever

    made = [tools.FunctionTool.from_defaults(one) for one in (book_flight, read_file)]
    retriever = ToolRetriever(made, k=1)
    assert retriever.retrieve("book me a flight to Lisbon") == [made[0]]
    agent = FunctionAgent(tool_retriever=retriever, llm=MockLLM())
    found = asyncio.run(agent.get_tools("what stands in the file notes.txt?"))
    assert made[1] in found and made[0] not in found
    router = Router(made)
    answer = router.call(router.select("book a flight", k=1)[0], {"city": "Lisbon"})
    assert "booked Lisbon" in str(answer)


def test_a_message_without_words_is_no_error():
    pytest.importorskip("llama_index.core.tools")
    from llama_index.core.tools import FunctionTool

    from toolroute.langchain import retrieve_tools
    from toolroute.llama_index import ToolRetriever

    made = [FunctionTool.from_defaults(one) for one in (book_flight, read_file)]
    for said in ("👍", "??", ""):
        assert ToolRetriever(made, k=1).retrieve(said) == made
        assert retrieve_tools({"book": book_flight}, k=1)(said) == []


def test_adapters_check_what_they_are_given():
    pytest.importorskip("agents")
    pytest.importorskip("llama_index.core")
    from agents import MultiProvider

    from toolroute.langchain import ToolSelector, retrieve_tools, select_model
    from toolroute.llama_index import ToolRetriever
    from toolroute.openai_agents import ToolSelectingModel

    makers = [
        lambda k: ToolSelector(k=k),
        lambda k: select_model(None, [], k),
        lambda k: retrieve_tools({}, k),
        lambda k: ToolRetriever([], k=k),
    ]
    for make in makers:
        for wrong in (0, "x", None):
            with pytest.raises(toolroute.RequestError, match=f"k={wrong!r}: expected a number from 1"):
                make(wrong)
    with pytest.raises(TypeError, match=r"write ToolSelectingModel\(agents.MultiProvider\(\).get_model\('gpt-5'\)"):
        ToolSelectingModel("gpt-5")
    assert callable(MultiProvider().get_model)


@pytest.mark.parametrize(
    ("needed", "program"),
    [
        ("agents", "import toolroute.openai_agents"),
        ("llama_index", "import toolroute.llama_index"),
        ("ray", "import toolroute.ray; toolroute.ray.rank(None, [])"),
        ("langchain", "from toolroute.langchain import ToolSelector; ToolSelector()"),
    ],
)
def test_without_its_package_an_adapter_says_the_cure(needed: str, program: str):
    hidden = f"import sys; sys.modules[{needed!r}] = None\n{program}"
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True)
    assert "; install it with `pip install " in done.stderr.splitlines()[-1]
