"""The object that users hold."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import eq, is_
from typing import TYPE_CHECKING, Any, Generic, Optional, Union, cast

from . import _calls, _definitions, _learning, _messages, _options, _server_calls, _tools
from ._errors import CallError, RequestError, UnknownTool
from ._selection import Hit, Selection, T
from ._toolroute import NativeRouter, NativeSelection
from ._unicode import encodable

if TYPE_CHECKING:
    from typing import Literal

    from typing_extensions import Self, Unpack

    from ._definitions import Client
    from ._messages import Messages
    from ._options import FilterOptions, Path, RouterOptions, SelectOptions, ServerOptions


class Router(Generic[T]):
    """Ranks tools for prompts: by meaning, by words, and by a policy.

    Tools may be mappings in the formats of OpenAI, Anthropic, MCP or toolroute, tools of MCP, LangChain
    and other frameworks (`docs/python.md` lists them), and Python functions, of which signature and
    docstring are read; all of them mixed. Of a mapping with several tools, such as an OpenAPI
    document, all are taken. A `Router` may be used by several threads, and pickles as its tools and options.

    Args:
        tools: The tools to choose from. The objects themselves are kept.
        options: `RouterOptions`: the policy for all selections (`max_cost="low"`), `min_confidence`,
            `model`, `usage`, `feedback` and others, named as on the command line.

    Raises:
        CatalogError: `tools` is no list, or, with `strict=True`, a tool is left out.

    >>> def send_email(to: str, text: str) -> None:
    ...     "Sends an email to a person"
    >>> router = Router([send_email, {"name": "read_file", "description": "Reads a file"}])
    >>> router
    Router(2 tools)
    >>> router.select("write a mail to Dana", k=1)[0].tool is send_email
    True
    """

    def __init__(self, tools: Iterable[T], **options: Unpack[RouterOptions]) -> None:
        given = _tools.listed(tools)
        texts, problems = _tools.read(given)
        native = NativeRouter.of_tools(texts, _options.settings_json(options), problems)
        dropped = _tools.dropped(given, texts, native.given_ids(), bool(options.get("strict")))
        self._begin(native, options, ("tools", given), dropped)
        self._tools.update(_tools.by_id(given, native.given_ids()))

    @classmethod
    def from_path(
        cls, path: Union[Path, Sequence[Path]], **options: Unpack[RouterOptions]
    ) -> Router[dict[str, Any]]:
        """A router over files and folders, in every format that the command line reads.

        Each `Hit.tool` is a mapping: the tool as a row of toolroute. Without a usable tool, as of an
        empty folder, the router is empty, with a warning.

        Raises:
            CatalogError: A path cannot be read, or is a file in no format of tools.
        """
        paths = _options.paths_of(path, "path")
        native = NativeRouter.of_paths(paths, _options.settings_json(options))
        return _over(native, options, ("path", paths))

    @classmethod
    def from_servers(cls, path: Path, **options: Unpack[ServerOptions]) -> Router[dict[str, Any]]:
        """A router over the MCP servers and APIs of a servers file, which it starts and calls.

        Definitions that changed since they were agreed to are held back, by the pins of the command
        line. Call `close` at the end, or use the router in a `with` statement. `ServerOptions` has
        the options of calls: `timeout`, `max_chars`, `read_only`, `same_call` and others.

        Raises:
            CatalogError: The file cannot be read.
        """
        file = _options.path_of(path)
        native = NativeRouter.of_servers(file, _options.settings_json(options, "servers"))
        return _over(native, options, ("servers", file))

    def _begin(
        self,
        native: NativeRouter,
        options: Mapping[str, Any],
        source: tuple[str, Any],
        dropped: Mapping[int, str],
        depth: int = 3,
    ) -> None:
        self._native = native
        self._dropped = dropped
        self._options = dict(options)
        self._source = source
        self._policy = _options.policy_of(options)
        self._tools: dict[str, T] = {}
        self._is_closed = False
        problems = self.problems
        if problems:
            warnings.warn(_tools.first_of(problems), stacklevel=depth)

    @property
    def problems(self) -> list[str]:
        """What is wrong with tools, files and servers; a tool with an error is left out."""
        return [*self._native.problems, *self._dropped.values()]

    @property
    def tools(self) -> list[T]:
        """The tools, in their order."""
        return [self._tool(id) for id in self._native.ids()]

    def __len__(self) -> int:
        return len(self._native)

    def __iter__(self) -> Iterator[T]:
        return iter(self.tools)

    def __contains__(self, tool: object) -> bool:
        """Whether a hit, an id or a tool is one of this router."""
        try:
            return self._native.tool(self._id(tool)) is not None
        except (RequestError, UnicodeEncodeError):
            return False

    def __repr__(self) -> str:
        return f"Router({len(self)} tool{'s'[len(self) == 1 :]})"

    def select(
        self,
        prompt: str,
        k: Union[int, Literal["auto"]] = 8,
        *,
        session: Optional[str] = None,
        **options: Unpack[SelectOptions],
    ) -> Selection[T]:
        """The tools for a prompt, best first.

        Args:
            prompt: What is wanted, in words.
            k: How many tools at most; `"auto"` gives as many as the prompt needs, up to 10.
            session: The conversation that the prompt belongs to: "now the same for Berlin" is then
                read with what was asked before.
            options: `SelectOptions`: a policy (`max_cost="low"`), a context (`stage="planning"`),
                `candidates` and others, named as on the command line.

        Raises:
            RequestError: The prompt is empty, or an option is out of range.

        >>> router = Router([
        ...     {"name": "search", "description": "Searches the web", "cost": "low"},
        ...     {"name": "research", "description": "Researches the web", "cost": "high"},
        ... ])
        >>> selection = router.select("research this on the web", max_cost="medium")
        >>> [hit.id for hit in selection]
        ['search']
        >>> selection.excluded[0].why
        'cost high is above medium'
        """
        _options.check("select", options, ("k", "session"))
        asked, session = self._asked(k, options), _options.session(session)
        return Selection(self._native.select(encodable(prompt), asked, session), self._tool)

    async def aselect(
        self,
        prompt: str,
        k: Union[int, Literal["auto"]] = 8,
        *,
        session: Optional[str] = None,
        **options: Unpack[SelectOptions],
    ) -> Selection[T]:
        """`select` on another thread, so that an event loop goes on meanwhile."""
        _options.check("aselect", options, ("k", "session"))
        asked, session = self._asked(k, options), _options.session(session)
        answer = await asyncio.to_thread(self._native.select, encodable(prompt), asked, session)
        return Selection(answer, self._tool)

    def select_many(
        self,
        prompts: Iterable[str],
        k: Union[int, Literal["auto"]] = 8,
        **options: Unpack[SelectOptions],
    ) -> list[Selection[T]]:
        """`select` for many prompts, on all cores; the answers are in their order.

        >>> router = Router([
        ...     {"name": "read_file", "description": "Reads a file"},
        ...     {"name": "send_email", "description": "Sends an email"},
        ... ])
        >>> answers = router.select_many(["open notes.txt", "mail this to Dana"], k=1)
        >>> [answer[0].id for answer in answers]
        ['read_file', 'send_email']
        """
        _options.check("select_many", options, ("k",))
        texts = [encodable(prompt) for prompt in _options.prompts(prompts)]
        answers = self._native.select_many(texts, self._asked(k, options))
        return [Selection(answer, self._tool) for answer in answers]

    def filter(self, messages: Messages, k: int = 8, **options: Unpack[FilterOptions]) -> list[T]:
        """The tools that a conversation needs, as they were given and in their order.

        At most `k` are kept for the last message of the user, and beside them the tools that the
        conversation used, those that the provider runs, and those with a cache mark. All are kept
        where no message says what is wanted.

        Args:
            messages: Messages of OpenAI, Anthropic, LangChain or LlamaIndex, a whole request, or a
                text. Of a request with a text `prompt` or `query` that is the last message.
            k: How many tools to keep at most.
            options: `FilterOptions`: a policy (`max_cost="low"`), `candidates`, patterns (`exclude`) and
                `stage`. What they leave out is not kept even if the conversation used it.

        Raises:
            RequestError: `messages` is something else, or `k` or an option is out of range.

        >>> router = Router([
        ...     {"name": "read_file", "description": "Reads a file"},
        ...     {"name": "send_email", "description": "Sends an email"},
        ... ])
        >>> router.filter([{"role": "user", "content": "mail this to Dana"}], k=1)
        [{'name': 'send_email', 'description': 'Sends an email'}]
        """
        return self._kept(*self._wanted("filter", messages, k, options))

    async def afilter(self, messages: Messages, k: int = 8, **options: Unpack[FilterOptions]) -> list[T]:
        """`filter` on another thread, so that an event loop goes on meanwhile."""
        return await asyncio.to_thread(self._kept, *self._wanted("afilter", messages, k, options))

    def _wanted(
        self, function: str, messages: Messages, k: int, options: Mapping[str, Any]
    ) -> tuple[str, int, str]:
        _options.check_filter(function, options)
        most = _options.limit(k)
        return _messages.body(messages), most, self._asked(most, options) if options else ""

    def _kept(self, body: str, most: int, asked: str) -> list[T]:
        ids = self._native.ids()
        if self._source[0] == "tools":
            ids = [id for id in ids if not _tools.always_stays(self._tools.get(id, {}))]
        needed = self._native.needed(body, most, ids, asked)
        left_out = set() if needed is None else set(ids).difference(needed)
        return list(self._listed(left_out))

    def _listed(self, left_out: set[str]) -> Iterator[T]:
        """The tools as they were given, without some of their ids."""
        if self._source[0] != "tools":
            yield from (self._tool(id) for id in self._native.ids() if id not in left_out)
            return
        for place, (tool, ids) in enumerate(zip(self._source[1], self._native.given_ids())):
            if _tools.is_document(tool):
                yield from (self._tool(id) for id in ids if id not in left_out)
            elif place not in self._dropped and _tools.stays(tool, ids, left_out):
                yield tool

    def definition(self, tool: Union[Hit[T], str, T], client: Client = "openai") -> Any:
        """The definition of a tool for the requests of a client, with the JSON schema that was read from
        it. Its name is the id of the tool, or if OpenAI and Anthropic would refuse that, a similar one;
        `call` takes both from a model. It is a new dictionary, of type `Any` because each client has a type
        of its own for it.

        Args:
            tool: A hit, an id, or the tool itself.
            client: `"openai"` (chat completions), `"responses"` (OpenAI's other API), `"anthropic"`
                or `"mcp"`.

        Raises:
            UnknownTool: There is no such tool.
            RequestError: There is no such client.

        >>> def add(a: int, b: int = 0) -> int:
        ...     "Adds two numbers"
        >>> Router([add]).definition(add, "anthropic")["input_schema"]["properties"]["b"]
        {'type': 'integer', 'default': 0}
        """
        id = self._id(tool)
        row = self._native.tool(id)
        if row is None:
            raise self._unknown(id)
        return _definitions.definition(row, client)

    def learn(self, past: Iterable[Union[tuple[str, Any], Mapping[str, Any]]]) -> dict[str, Any]:
        """Learns from past prompts: tools are moved towards the prompts that they served.

        Args:
            past: Prompts, each with the tool that served it or a list of them: ids, tools or hits; or
                rows of `toolroute learn`, mappings with `query` (or `prompt`) and `tools`.

        Returns:
            `tools_learned`, `prompts_used`, `prompts_unused` and `unknown_ids`, of which a warning says.

        Raises:
            RequestError: Something else is among them.

        >>> router = Router([
        ...     {"name": "deploy", "description": "Puts a build into production"},
        ...     {"name": "book_ferry", "description": "Books a passage by sea"},
        ... ])
        >>> router.learn([("ship it", "deploy"), ("ship this now", "deploy")])["tools_learned"]
        1
        """
        return _learning.learn(self._native, past, self._id)

    def save(self, path: Path) -> None:
        """Writes what was learned to a file, which `Router(tools, usage=path)` and the command line
        (`--usage`) read. A file of another kind is not overwritten.

        Raises:
            RequestError: Nothing was learned.
            ToolrouteError: There is a file of another kind, or the file cannot be written.
        """
        if not self._native.save(_options.path_of(path)):
            raise RequestError("nothing was learned; call `learn` first")

    def record(self, hit: Hit[T], ok: bool, *, duration_ms: Optional[int] = None) -> None:
        """Logs that a tool was run for its prompt, in the log that `feedback` names.

        Args:
            hit: A hit of an answer of this process.
            ok: Whether the tool did what the prompt asked for.
            duration_ms: How long it took, in milliseconds.

        Raises:
            RequestError: The router has no log, or the hit comes from another process.
        """
        if not isinstance(hit, Hit):
            raise RequestError(f"expected a hit of an answer, found {hit!r:.80}")
        if self._log is None:
            raise RequestError(
                "this router has no log of executions; make it with one: Router(tools, feedback=FILE)"
            )
        _options.outcome(ok, duration_ms)
        answer = hit._answer
        if not isinstance(answer, NativeSelection):
            raise RequestError("the hit comes from another process; record it where it was selected")
        self._native.record(answer, hit.id, ok, duration_ms)

    def call(
        self,
        tool: Union[Hit[T], str, T],
        arguments: Union[Mapping[str, Any], str, None] = None,
        *,
        confirmed: bool = False,
        session: Optional[str] = None,
        prompt: Optional[str] = None,
    ) -> Any:
        """Calls a tool: a function with arguments of the types that it declares, a tool of a framework
        in its way, and a tool of a server by its server, with another tool where it fails.

        Args:
            tool: A hit, an id, or the tool itself.
            arguments: Arguments by name, or the text of JSON that a model wrote.
            confirmed: Whether a person agreed to a call that may destroy something.
            session: The conversation that the call belongs to, of a router of servers.
            prompt: What the call is for, with which it is logged; that of a hit is known.

        Returns:
            What the function returns; of a server its structured answer, or else its text.

        Raises:
            ArgumentError: An argument is missing or unknown, or does not fit its parameter.
            CallError: The tool cannot be called, or its server failed.
            ConfirmationNeeded: A person must agree first.
            UnknownTool: There is no such tool.
            RequestError: It does not take a `session`.

        >>> import datetime
        >>> def weekday(day: datetime.date) -> str:
        ...     "Tells the day of the week"
        ...     return day.strftime("%A")
        >>> router = Router([weekday])
        >>> router.call("weekday", {"day": "2026-01-31"})
        'Saturday'
        """
        id, given, session = self._id(tool), _calls.parsed(arguments), _options.session(session)
        if self._source[0] == "servers":
            order = _server_calls.Order(id, _calls.to_json(given), self._prompt(tool, prompt), confirmed, session)
            return _server_calls.run(self._native, order)
        _calls.check_session(session)
        own = self._tool(id)
        note = _calls.note_of(self._log, id, tool, prompt)
        _calls.check(id, own)
        given = _calls.prepared(self._native, id, own, given, confirmed)
        with _calls.noted(note):
            return _calls.run(id, own, given)

    async def acall(
        self,
        tool: Union[Hit[T], str, T],
        arguments: Union[Mapping[str, Any], str, None] = None,
        *,
        confirmed: bool = False,
        session: Optional[str] = None,
        prompt: Optional[str] = None,
    ) -> Any:
        """`call` in an event loop: tools of servers, coroutine functions, and tools of frameworks that
        have a coroutine, are awaited; others run on another thread, and what they return is awaited where
        that can be. Where the task is cancelled, so is the call, except one on another thread.
        """
        id, given, session = self._id(tool), _calls.parsed(arguments), _options.session(session)
        if self._source[0] == "servers":
            order = _server_calls.Order(id, _calls.to_json(given), self._prompt(tool, prompt), confirmed, session)
            return await _server_calls.awaited(self._native, order)
        _calls.check_session(session)
        own = self._tool(id)
        note = _calls.note_of(self._log, id, tool, prompt)
        coroutine = _calls.coroutine_of(id, own)
        given = _calls.prepared(self._native, id, own, given, confirmed)
        with _calls.noted(note):
            return await coroutine(given)

    def read_more(self, handle: str, offset: int = 0) -> dict[str, Any]:
        """The rest of an answer of a server's tool that was cut, by the handle in its mark.

        Args:
            handle: The handle, as `41e141bbd2d5fd2ec839cbca`.
            offset: Where to begin, in characters.

        Returns:
            `text`, `offset`, `of_chars`, and where there is more `next_offset`.

        Raises:
            CallError: There is no such answer any more.
        """
        return _server_calls.more(self._native, handle, _options.offset(offset))

    def _prompt(self, tool: Any, prompt: Optional[str]) -> str:
        """The prompt of a call of a server's tool: the given one, or that of a hit."""
        if self._is_closed:
            raise CallError("the router is closed and its servers are stopped; make another")
        answer = tool._answer if isinstance(tool, Hit) else None
        return (answer.prompt if answer else "") if prompt is None else encodable(prompt)

    @property
    def _log(self) -> Optional[NativeRouter]:
        """What logs executions, if there is a log."""
        return self._native if "feedback" in self._options else None

    def close(self) -> None:
        """Writes the log and ends the servers."""
        self._is_closed = True
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __copy__(self) -> Self:
        """Another router over the same engine: nothing is embedded again, and what one of them learns,
        both know.
        """
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def _with(self, tools: list[T], texts: Sequence[str]) -> Self:
        """A copy over other objects with the same definitions."""
        copied, ids = self.__copy__(), self._native.given_ids()
        copied._source, copied._tools = ("tools", tools), _tools.by_id(tools, ids)
        copied._dropped = _tools.dropped(tools, texts, ids, strict=False)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        ways: dict[str, Callable[..., Router[Any]]] = {"tools": Router, "path": Router.from_path}
        make = ways.get(self._source[0], Router.from_servers)
        return (_learning.restored, (make, self._source[1], self._options, _learning.saved(self._native)))

    def _asked(self, k: Union[int, Literal["auto"]], options: Mapping[str, Any]) -> str:
        candidates = options.get("candidates")
        if isinstance(candidates, str):
            raise TypeError(f"`candidates`: expected a list of tools or ids, found the text {candidates!r}")
        ids = None if candidates is None else [self._id(tool) for tool in candidates]
        return _options.select_json(k, options, self._policy, ids)

    def _tool(self, id: str) -> T:
        found = self._tools.get(id)
        if found is None:
            text = self._native.tool(id)
            if text is None:
                raise self._unknown(id)
            found = json.loads(text)
            # A server may change its tools.
            if self._source[0] != "servers":
                self._tools[id] = found
        return cast("T", found)

    def _id(self, tool: Any) -> str:
        """The id of a hit, of a tool, or of a name."""
        if isinstance(tool, Hit):
            return str(tool.id)
        if isinstance(tool, str):
            return self._native.resolve(tool) or tool
        for same in (is_, eq):
            for id, known in list(self._tools.items()):
                if same(known, tool):
                    return id
        if isinstance(tool, Mapping) and self._source[0] == "servers":
            own = tool.get("id")
            if isinstance(own, str) and self._native.resolve(own) == own:
                return own
        raise UnknownTool(f"expected a tool of this router, found {tool!r:.80}")

    def _unknown(self, id: str) -> UnknownTool:
        near = " or ".join(self._native.near(id))
        cure = f"; did you mean {near}?" if near else ""
        return UnknownTool(f"expected a tool of this router, found {id!r:.80}{cure}")


def _over(
    native: NativeRouter, options: Mapping[str, Any], source: tuple[str, Any]
) -> Router[dict[str, Any]]:
    """A router over tools that the engine read itself."""
    router: Router[dict[str, Any]] = Router.__new__(Router)
    router._begin(native, options, source, {}, depth=4)
    return router
