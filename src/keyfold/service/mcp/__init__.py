"""Access patterns as tools of agents, by the Model Context Protocol.

`AgentService` runs tools for callers; `make_server` offers it by the official SDK, `serve_stdio` runs
that on standard input and output, and `AgentApp` over HTTP. `DesignWorkbench` has tools for designers.
"""

from __future__ import annotations

from keyfold.service.mcp._audit import AuditLog
from keyfold.service.mcp._calls import AgentService
from keyfold.service.mcp._designing import DesignWorkbench
from keyfold.service.mcp._http_app import AgentApp
from keyfold.service.mcp._server import make_server
from keyfold.service.mcp._settings import AgentCaps, AgentSettings
from keyfold.service.mcp._stdio import serve_stdio
from keyfold.service.mcp._tool_calls import ToolAnswer
from keyfold.service.mcp._tools import AgentTool

__all__ = [
    "AgentApp",
    "AgentCaps",
    "AgentService",
    "AgentSettings",
    "AgentTool",
    "AuditLog",
    "DesignWorkbench",
    "ToolAnswer",
    "make_server",
    "serve_stdio",
]
