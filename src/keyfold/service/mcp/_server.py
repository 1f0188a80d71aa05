"""Agents' tools by the Model Context Protocol, on its official SDK, which is imported here alone."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from keyfold.errors import ExtraMissing
from keyfold.service._callers import Caller
from keyfold.service._problems import ServiceProblem
from keyfold.service.mcp._calls import AgentService
from keyfold.service.mcp._tool_calls import ToolAnswer
from keyfold.service.mcp._tools import AgentTool

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server import Server
    from mcp.server.context import ServerRequestContext

# Returns who sent a message.
Identify = Callable[["ServerRequestContext[Any, Any]"], Caller | None]


def make_server(service: AgentService, identify: Identify) -> Server[Any]:
    """Return the MCP server of a table's tools; raises ExtraMissing."""
    try:
        import mcp_types as types  # noqa: PLC0415 - of the extra
        from mcp.server import Server  # noqa: PLC0415 - of the extra
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - of the extra
    except ImportError:
        raise ExtraMissing("keyfold mcp", "mcp", "mcp") from None

    async def list_tools(
        context: ServerRequestContext[Any, Any], _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tools = await service.list_tools(identify(context))
        return types.ListToolsResult(tools=[_write_tool(each) for each in tools])

    async def call_tool(
        context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        caller = identify(context)
        return _write_answer(await service.call(caller, params.name, params.arguments or {}))

    async def list_resources(
        context: ServerRequestContext[Any, Any], _: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        found = await service.list_resources(identify(context))
        resources = [
            types.Resource(
                uri=each.uri,
                name=each.name,
                description=each.description,
                mime_type=each.mime_type,
            )
            for each in found.values()
        ]
        return types.ListResourcesResult(resources=resources)

    async def read_resource(
        context: ServerRequestContext[Any, Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        try:
            resource, text = await service.read_resource(identify(context), params.uri)
        except ServiceProblem as error:
            facts = {"code": error.problem.code}
            raise MCPError(types.INVALID_PARAMS, error.problem.detail, facts) from None
        contents = types.TextResourceContents(
            uri=resource.uri, mime_type=resource.mime_type, text=text
        )
        return types.ReadResourceResult(contents=[contents])

    return Server(
        "keyfold",
        version=version("keyfold"),
        title=f"Access patterns of {service.table.name}",
        instructions=_instruct(service),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


def _instruct(service: AgentService) -> str:
    writes = (
        "Some tools write."
        if service.settings.may_write
        else "No tool writes: the server only reads."
    )
    return (
        f"The tools are the access patterns of the DynamoDB table {service.table.name}. Who you act for "
        "is fixed by the server; a call for the items of others is refused. Answers are limited: one with "
        f"a cursor has more, which the same call with that cursor returns. {writes}"
    )


def _write_tool(tool: AgentTool) -> types.Tool:
    import mcp_types as types  # noqa: PLC0415 - of the extra

    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=dict(tool.input_schema),
        output_schema=None if tool.output_schema is None else dict(tool.output_schema),
        annotations=types.ToolAnnotations(
            read_only_hint=not tool.writes,
            destructive_hint=tool.destroys,
            idempotent_hint=tool.is_idempotent,
            open_world_hint=False,
        ),
    )


def _write_answer(answer: ToolAnswer) -> types.CallToolResult:
    import mcp_types as types  # noqa: PLC0415 - of the extra

    content: list[Any] = [types.TextContent(type="text", text=answer.text)]
    if answer.is_error:
        return types.CallToolResult(content=content, is_error=True)
    return types.CallToolResult(content=content, structured_content=dict(answer.document))
