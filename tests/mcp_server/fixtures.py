"""The tools, resources and prompts that `@modelcontextprotocol/conformance` calls by name, on our own server.

They are a subclass of our handlers, mounted behind the same gate, session manager and notices as the memory's own; what
is not the suite's is answered as always. So the suite tests the code that clients meet.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import mcp_types as types
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import PromptsListChanged, ServerEvent, ToolsListChanged
from mcp.shared.exceptions import MCPError
from starlette.types import ASGIApp, Receive, Scope, Send

from memorist.mcp.http import Endpoint, caller_of, mounted
from memorist.mcp.notices import Notices
from memorist.mcp.server import Context, Handlers, Options, make_server
from memorist.mcp.tools import SETS
from memorist.protocol.parts import Part
from memorist.server.app import Server

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = base64.b64encode(b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\0\0\0\0").decode()
TEMPLATE = re.compile(r"test://template/([^/]+)/data")
PAUSE = 0.05
"""Seconds between the notices of one call, as the suite describes them."""
Answer = types.CallToolResult | types.InputRequiredResult
Call = Callable[["Fixtures", Context, types.CallToolRequestParams], Awaitable[Answer]]
_CALLS: dict[str, tuple[Call, tuple[str, ...]]] = {}


def tool(*needed: str) -> Callable[[Call], Call]:
    """A tool of the suite's, called `test_` and the name of its function, with the texts it takes."""

    def add(call: Call) -> Call:
        _CALLS[f"test_{call.__name__}"] = call, needed
        return call

    return add


def text(content: str) -> types.TextContent:
    return types.TextContent(type="text", text=content)


def image() -> types.ImageContent:
    return types.ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri: str, content: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    inside = types.TextResourceContents(uri=uri, mime_type=mime_type, text=content)
    return types.EmbeddedResource(type="resource", resource=inside)


def answer(*content: Any) -> types.CallToolResult:
    return types.CallToolResult(content=list(content))


def form(message: str, **fields: Any) -> types.ElicitRequest:
    """A question to the user, by the fields of its form."""
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=schema(fields, *fields))
    )


def sample(prompt: str, tokens: int = 100) -> types.CreateMessageRequest:
    """A question to the client's model."""
    message = types.SamplingMessage(role="user", content=text(prompt))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=tokens))


def roots() -> types.ListRootsRequest:
    return types.ListRootsRequest(params=types.RequestParams())


def schema(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(required)}


def needs(state: str | None = None, **requests: types.InputRequest) -> types.InputRequiredResult:
    """What a call answers that cannot end before the client has answered."""
    return types.InputRequiredResult(input_requests=requests, request_state=state)


STRING = {"type": "string"}


class Fixtures(Handlers):
    """Our handlers, with the suite's names in front."""

    @property
    def notices(self) -> Notices:
        return self._notices

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        ours = await super().list_tools(ctx, params)
        theirs = [
            types.Tool(
                name=name,
                description=f"The suite's {name}",
                input_schema=schema(dict.fromkeys(needed, STRING), *needed),
            )
            for name, (_, needed) in _CALLS.items()
        ]
        return types.ListToolsResult(tools=[*ours.tools, *theirs])

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        if params.name not in _CALLS:
            return await super().call_tool(ctx, params)
        return await _CALLS[params.name][0](self, ctx, params)

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        ours = await super().list_resources(ctx, params)
        theirs = [
            types.Resource(uri="test://static-text", name="text", description="A text", mime_type="text/plain"),
            types.Resource(uri="test://static-binary", name="binary", description="A picture", mime_type="image/png"),
            types.Resource(uri="test://watched-resource", name="watched", description="One that may be watched"),
        ]
        return types.ListResourcesResult(resources=[*theirs, *ours.resources], next_cursor=ours.next_cursor)

    async def list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        ours = await super().list_templates(ctx, params)
        theirs = types.ResourceTemplate(uri_template="test://template/{id}/data", name="template")
        return types.ListResourceTemplatesResult(resource_templates=[*ours.resource_templates, theirs])

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = params.uri
        contents: types.TextResourceContents | types.BlobResourceContents
        if uri == "test://static-text":
            content = "This is the content of the static text resource."
            contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=content)
        elif uri == "test://static-binary":
            contents = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
        elif match := TEMPLATE.fullmatch(uri):
            id = match.group(1)
            content = f'{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}'
            contents = types.TextResourceContents(uri=uri, mime_type="application/json", text=content)
        else:
            return await super().read_resource(ctx, params)
        return types.ReadResourceResult(contents=[contents])

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        if not params.uri.startswith("test://"):
            return await super().subscribe(ctx, params)
        self.notices.subscribe((await caller_of(ctx)).org, params.uri, ctx.session)
        return types.EmptyResult()

    async def list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        ours = await super().list_prompts(ctx, params)
        theirs = {
            "test_simple_prompt": (),
            "test_prompt_with_arguments": ("arg1", "arg2"),
            "test_prompt_with_embedded_resource": ("resourceUri",),
            "test_prompt_with_image": (),
            "test_input_required_result_prompt": (),
        }
        prompts = [
            types.Prompt(
                name=name,
                description=f"The suite's {name}",
                arguments=[types.PromptArgument(name=argument, required=True) for argument in needed],
            )
            for name, needed in theirs.items()
        ]
        return types.ListPromptsResult(prompts=[*ours.prompts, *prompts])

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Any:
        arguments = params.arguments or {}
        if params.name == "test_simple_prompt":
            return prompted(text("This is a simple prompt for testing."))
        if params.name == "test_prompt_with_arguments":
            reply = f"Prompt with arguments: arg1='{arguments.get('arg1')}', arg2='{arguments.get('arg2')}'"
            return prompted(text(reply))
        if params.name == "test_prompt_with_embedded_resource":
            inside = embedded(arguments["resourceUri"], "Embedded resource content for testing.")
            return prompted(inside, text("Please process the embedded resource above."))
        if params.name == "test_prompt_with_image":
            return prompted(image(), text("Please analyze the image above."))
        if params.name == "test_input_required_result_prompt":
            context = (params.input_responses or {}).get("user_context")
            if not isinstance(context, types.ElicitResult):
                return needs(user_context=form("What context should the prompt use?", context=STRING))
            return prompted(text(f"The context is {context.content}"))
        return await super().get_prompt(ctx, params)

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        if params.argument.name != "arg1":
            return await super().complete(ctx, params)
        values = [value for value in ("paris", "park", "party") if value.startswith(params.argument.value)]
        return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))

    async def changed(self, ctx: Context, event: ServerEvent) -> types.CallToolResult:
        """Tell those who listen of a change."""
        org = (await caller_of(ctx)).org
        await self.notices._bus(org)[0].publish(event)
        return answer(text("changed"))


def prompted(*content: Any) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=part) for part in content])


def responses(params: types.CallToolRequestParams, *names: str) -> list[Any] | None:
    """What the client answered under these names; None where one is missing."""
    answered = params.input_responses or {}
    return [answered[name] for name in names] if all(name in answered for name in names) else None


@tool()
async def simple_text(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    return answer(text("This is a simple text response for testing."))


@tool()
async def image_content(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    return answer(image())


@tool()
async def audio_content(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    return answer(types.AudioContent(type="audio", data=WAV, mime_type="audio/wav"))


@tool()
async def embedded_resource(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    return answer(embedded("test://embedded-resource", "This is an embedded resource content."))


@tool()
async def multiple_content_types(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    inside = embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    return answer(text("Multiple content types test:"), image(), inside)


@tool()
async def error_handling(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    message = text("This tool intentionally returns an error for testing")
    return types.CallToolResult(content=[message], is_error=True)


@tool()
async def tool_with_logging(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await _logged(ctx, line)
        await anyio.sleep(PAUSE)
    return answer(text("logged"))


@tool()
async def logging_tool(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    await _logged(ctx, "only for who asked for logs")
    return answer(text("done"))


async def _logged(ctx: Context, line: str) -> None:
    await ctx.session.send_log_message("info", line, related_request_id=ctx.request_id)


@tool()
async def tool_with_progress(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    for percent in (0, 50, 100):
        await ctx.session.report_progress(percent, 100)
        await anyio.sleep(PAUSE)
    return answer(text("done"))


@tool("prompt")
async def sampling(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    question = types.SamplingMessage(role="user", content=text((params.arguments or {})["prompt"]))
    result = await ctx.session.create_message([question], max_tokens=100, related_request_id=ctx.request_id)
    assert isinstance(result.content, types.TextContent)
    return answer(text(f"LLM response: {result.content.text}"))


@tool("message")
async def elicitation(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    result = await _elicited(ctx, (params.arguments or {})["message"], schema(fields, *fields))
    return answer(text(f"User response: action: {result.action}, content: {result.content}"))


@tool()
async def elicitation_sep1034_defaults(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    states = ["active", "inactive", "pending"]
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": states, "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    result = await _elicited(ctx, "Is this right?", schema(fields))
    return answer(text(f"Elicitation completed: action={result.action}, content={result.content}"))


@tool()
async def elicitation_sep1330_enums(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    options = ["option1", "option2", "option3"]
    titled = [{"const": f"value{at}", "title": f"{nth} Option"} for at, nth in enumerate(("First", "Second"), 1)]
    fields = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    result = await _elicited(ctx, "Choose", schema(fields))
    return answer(text(f"Elicitation completed: action={result.action}, content={result.content}"))


async def _elicited(ctx: Context, message: str, form_schema: dict[str, Any]) -> types.ElicitResult:
    return await ctx.session.elicit_form(message, form_schema, ctx.request_id)


@tool()
async def missing_capability(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    capabilities = types.ClientCapabilities(sampling=types.SamplingCapability())
    if not ctx.session.check_client_capability(capabilities):
        data = types.MissingRequiredClientCapabilityErrorData(required_capabilities=capabilities)
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "the client has no sampling",
            data.model_dump(by_alias=True, exclude_none=True),
        )
    return answer(text("it has"))


@tool()
async def streaming_elicitation(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    return needs(user_name=form("What is your name?", name=STRING))


@tool()
async def trigger_tool_change(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    return await self.changed(ctx, ToolsListChanged())


@tool()
async def trigger_prompt_change(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    return await self.changed(ctx, PromptsListChanged())


@tool()
async def input_required_result_elicitation(
    self: Fixtures, ctx: Context, params: types.CallToolRequestParams
) -> Answer:
    replies = responses(params, "user_name")
    if replies is None or not isinstance(replies[0], types.ElicitResult):
        return needs(user_name=form("What is your name?", name=STRING))
    return answer(text(f"Hello, {(replies[0].content or {}).get('name')}!"))


@tool()
async def input_required_result_sampling(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    replies = responses(params, "capital_question")
    if replies is None:
        return needs(capital_question=sample("What is the capital of France?"))
    return answer(text(f"The model says: {replies[0].content.text}"))


@tool()
async def input_required_result_list_roots(self: Fixtures, ctx: Context, params: types.CallToolRequestParams) -> Answer:
    replies = responses(params, "client_roots")
    if replies is None:
        return needs(client_roots=roots())
    return answer(text(", ".join(str(root.uri) for root in replies[0].roots)))


@tool()
async def input_required_result_request_state(
    self: Fixtures, ctx: Context, params: types.CallToolRequestParams
) -> Answer:
    if responses(params, "confirm") is None or params.request_state != "asked":
        return needs("asked", confirm=form("Please confirm", ok={"type": "boolean"}))
    return answer(text("state-ok"))


@tool()
async def input_required_result_tampered_state(
    self: Fixtures, ctx: Context, params: types.CallToolRequestParams
) -> Answer:
    return await input_required_result_request_state(self, ctx, params)


@tool()
async def input_required_result_multiple_inputs(
    self: Fixtures, ctx: Context, params: types.CallToolRequestParams
) -> Answer:
    if responses(params, "user_name", "greeting", "client_roots") is None:
        return needs(
            "three asked",
            user_name=form("What is your name?", name=STRING),
            greeting=sample("Generate a greeting", 50),
            client_roots=roots(),
        )
    return answer(text("all there"))


@tool()
async def input_required_result_multi_round(
    self: Fixtures, ctx: Context, params: types.CallToolRequestParams
) -> Answer:
    if params.request_state == "second" and responses(params, "step2"):
        return answer(text("both steps done"))
    if params.request_state == "first" and responses(params, "step1"):
        return needs("second", step2=form("Step 2: What is your favorite color?", color=STRING))
    return needs("first", step1=form("Step 1: What is your name?", name=STRING))


@tool()
async def input_required_result_capabilities(
    self: Fixtures, ctx: Context, params: types.CallToolRequestParams
) -> Answer:
    can = ctx.session.check_client_capability
    requests: dict[str, types.InputRequest] = {}
    if can(types.ClientCapabilities(sampling=types.SamplingCapability())):
        requests["greeting"] = sample("Generate a greeting")
    if can(types.ClientCapabilities(elicitation=types.ElicitationCapability())):
        requests["user_name"] = form("What is your name?", name=STRING)
    return needs(**requests) if requests else answer(text("nothing can be asked"))


class WithKey:
    """Adds a key to each request, for clients that know of none."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app = app
        self._server = server
        self._key: str | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._key is None:
            created = await self._server.keys.create(user="conformance", roles=("reader", "writer", "forget"))
            self._key = created.key
        headers = [*scope["headers"], (b"authorization", f"Bearer {self._key}".encode())]
        # The server keeps what it has read of the headers in the scope; it has to read them anew.
        await self._app({**scope, "headers": headers, "memorist.headers": None}, receive, send)


def fixture_part(server: Server) -> Part:
    """`/mcp` with the suite's fixtures: sessions and streams, so that clients can be asked and told things."""
    notices = Notices()
    mcp_server = make_server(caller_of, Options(sets=frozenset(SETS)), notices, answering=Fixtures)
    mcp_server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _set_level)
    mcp_server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="memorist"))
    part = mounted(server, mcp_server, notices, sessions=True, json=False)
    return Part(part.path, Endpoint(WithKey(part.app, server)), part.running, gated=False)


def plain_part(server: Server) -> Part:
    """`/mcp` as it is served to everybody."""
    notices = Notices()
    mcp_server = make_server(caller_of, Options(sets=frozenset(SETS)), notices)
    part = mounted(server, mcp_server, notices)
    return Part(part.path, Endpoint(WithKey(part.app, server)), part.running, gated=False)


async def _set_level(ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()
