"""`keyfold mcp`: the access patterns of a table as tools of agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfold.cli._options import Database, OneTableArgument, TableOption
from keyfold.cli._principals import Ids, Roles, read_principal

if TYPE_CHECKING:
    from collections.abc import Callable

    # Imported when the command runs, so that --help does not load the model.
    from keyfold.model import Table
    from keyfold.service.mcp import AgentApp, AgentSettings

EXAMPLES = (
    "keyfold mcp market --db market.db --as customer --id user=ada",
    "keyfold mcp market --db market.db --as support --write --audit calls.jsonl",
    "keyfold mcp market --db market.db --http --auth auth.toml --port 0",
    "keyfold mcp --table shop.tables:market --db shop.db --design",
)

# Over HTTP, a principal that has been idle for so long has a new session.
_IDLE_SECONDS = 1_800
_HOST, _PORT = "127.0.0.1", 8_090


def mcp(
    name: OneTableArgument = None,
    *,
    table: TableOption = None,
    db: Database,
    roles: Roles = None,
    ids: Ids = None,
    write: Annotated[
        bool, typer.Option("--write", help="Offer tools that write, too; by default, none can.")
    ] = False,
    max_items: Annotated[
        int, typer.Option(help="The most items of an answer.", metavar="COUNT", min=1)
    ] = 100,
    max_bytes: Annotated[
        int, typer.Option(help="The most bytes of an answer.", metavar="COUNT", min=1)
    ] = 50_000,
    max_units: Annotated[
        float, typer.Option(help="The most capacity units of a call.", metavar="UNITS")
    ] = 200,
    max_session_units: Annotated[
        float, typer.Option(help="The most capacity units of a session.", metavar="UNITS")
    ] = 10_000,
    audit: Annotated[
        Path | None,
        typer.Option(
            help="Append a line of JSON here for each call. A call is refused if that fails.",
            metavar="FILE",
        ),
    ] = None,
    design: Annotated[
        bool,
        typer.Option(
            "--design",
            help="Offer tools for designers, too: review, price and try the declaration on scratch data.",
        ),
    ] = False,
    http: Annotated[
        bool, typer.Option("--http", help="Serve HTTP (streamable), at the path /mcp.")
    ] = False,
    host: Annotated[
        str | None,
        typer.Option(help=f"The address to listen on; by default {_HOST}.", metavar="ADDRESS"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help=f"The port to listen on; by default {_PORT}, 0 chooses a free one."),
    ] = None,
    auth: Annotated[
        Path | None,
        typer.Option(
            help="A file (TOML) that says whose tokens and API keys are accepted over HTTP.",
            metavar="FILE",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Another name of the server that clients may use. Loopback names are always "
            "accepted. Repeatable.",
            metavar="NAME",
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            help="An origin whose web pages may use the server. Those of this machine always may. "
            "Repeatable.",
            metavar="ORIGIN",
        ),
    ] = None,
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure", help="Serve other machines with --as: anybody may do what the role may."
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the line that reports readiness of HTTP as JSON.")
    ] = False,
) -> None:
    """Offer the access patterns of a table to agents, as tools.

    Speaks the Model Context Protocol on standard input and output, for the program that starts it,
    or over HTTP. Each pattern is a tool with the name of its function. Tools only read unless
    --write is given. What an answer, a call and a session may use is limited.

    Every call has the rights of --as, or over HTTP those of its token or API key, and sees only
    its tenant's items: no tool lets an agent choose another role or tenant. On standard input,
    without --as, calls may do all that you may do with the database. Over HTTP, without --as and
    --auth, every request answers with status 401.

    With --design, an agent that edits the declaration can review, price and try it as it is in its
    file, on scratch data in memory. These tools never use the database.

    A file that does not exist is created. Needs the extra keyfold[mcp].
    """
    import asyncio

    from keyfold.cli._tables import find_table
    from keyfold.cli.api import find_store_options
    from keyfold.service import Caller
    from keyfold.service._database import ServiceDatabase
    from keyfold.service.mcp import (
        AgentCaps,
        AgentService,
        AgentSettings,
        AuditLog,
        DesignWorkbench,
        serve_stdio,
    )

    found = find_table(name, table)
    settings = AgentSettings(
        caps=AgentCaps(max_items, max_bytes, max_units, max_session_units),
        may_write=write,
        audit=None if audit is None else AuditLog(audit),
    )
    if http:
        if design:
            fact = "its scratch data is that of one designer. Omit --http or --design."
            raise typer.BadParameter(fact, param_hint="--design")
        _serve_http(
            found,
            db,
            settings,
            host=host or _HOST,
            port=_PORT if port is None else port,
            auth=auth,
            roles=roles,
            ids=ids,
            allow_host=allow_host or [],
            allow_origin=allow_origin or [],
            insecure=insecure,
            as_json=as_json,
        )
        return
    given = {"--host": host, "--auth": auth, "--allow-host": allow_host}
    given |= {"--port": port, "--allow-origin": allow_origin, "--insecure": insecure or None}
    for option, value in given.items():
        if value is not None:
            raise typer.BadParameter("it is for --http. Give --http, too.", param_hint=option)
    principal = read_principal(roles, ids)
    caller = None if principal is None else Caller(principal.roles, principal.ids, name="--as")
    tools = DesignWorkbench(_make_loader(name, table, found)).make_tools() if design else ()

    async def serve() -> None:
        database = ServiceDatabase(found, db, **find_store_options(db))
        await serve_stdio(AgentService(found, database, settings, tools), caller)

    asyncio.run(serve())


def _make_loader(name: str | None, option: str | None, found: Table) -> Callable[[], Table]:
    """Return a function that loads the declaration of a table as it is in its files now.

    The modules of its package are imported anew, unless it is an included design.
    """
    import importlib
    import linecache
    import sys

    from keyfold.cli._tables import find_table

    packages = {each.entity.__module__.partition(".")[0] for each in found.entities.values()}

    def load() -> Table:
        for each in [*sys.modules]:
            package = each.partition(".")[0]
            if package in packages and package != "keyfold":
                del sys.modules[each]
        importlib.invalidate_caches()
        linecache.checkcache()
        return find_table(name, option)

    return load


def _serve_http(
    table: Table,
    db: str,
    settings: AgentSettings,
    *,
    host: str,
    port: int,
    auth: Path | None,
    roles: list[str] | None,
    ids: list[str] | None,
    allow_host: list[str],
    allow_origin: list[str],
    insecure: bool,
    as_json: bool,
) -> None:
    """Serve HTTP until a signal ends it; prints one line when ready."""
    from dataclasses import replace

    from keyfold.cli.api import find_authentication, find_store_options
    from keyfold.service._database import ServiceDatabase
    from keyfold.service._runner import run_app
    from keyfold.service.mcp import AgentApp, AgentService
    from keyfold.wire.server._browsers import BrowserRules, check_exposure, is_loopback_address
    from keyfold.wire.server._server import bind

    authenticator, limits = find_authentication(table, auth, roles, ids)
    with bind(host, port) as listener:
        address, bound_port = listener.getsockname()[:2]
        check_exposure(address, has_keys=not roles, insecure=insecure)
        is_public = not is_loopback_address(address)
        browsers = BrowserRules(allow_host, allow_origin, any_host=is_public and not allow_host)
        settings = replace(settings, limits=limits, idle_seconds=_IDLE_SECONDS)
        database = ServiceDatabase(table, db, **find_store_options(db))
        app: AgentApp = AgentApp(AgentService(table, database, settings), authenticator, browsers)
        shown = f"[{address}]" if ":" in address else address
        url = f"http://{shown}:{bound_port}/mcp"

        def announce() -> None:
            if as_json:
                print(json.dumps({"serving": table.name, "url": url}), flush=True)
            else:
                print(f"Keyfold serves the tools of {table.name} at {url}", flush=True)

        run_app(app, listener, on_ready=announce, extra="mcp")
