"""`keyfold api`: the access patterns of a table over HTTP."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfold.cli._options import Database, OneTableArgument, TableOption
from keyfold.cli._principals import Ids, Roles, read_principal

if TYPE_CHECKING:
    # Imported when the command runs, so that --help does not load the model.
    from keyfold.model import Table
    from keyfold.service import Authenticator, RateLimits

EXAMPLES = (
    "keyfold api market --db market.db --as support",
    "keyfold api market --db market.db --as customer --id user=ada --port 0",
    "keyfold api --table shop.tables:market --db dynamodb://eu-west-1 --auth auth.toml",
    "keyfold api market --db market.db --auth auth.toml --rate 100 --burst 500 --access-log",
)


def api(
    name: OneTableArgument = None,
    *,
    table: TableOption = None,
    db: Database,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 chooses a free one.")] = 8080,
    auth: Annotated[
        Path | None,
        typer.Option(
            help="A file (TOML) that says whose tokens and API keys are accepted.", metavar="FILE"
        ),
    ] = None,
    roles: Roles = None,
    ids: Ids = None,
    rate: Annotated[
        float | None,
        typer.Option(
            help="The capacity units a second that each caller may use; it replaces the limit of --auth.",
            metavar="UNITS",
        ),
    ] = None,
    burst: Annotated[
        float | None,
        typer.Option(
            help="The units that a caller may use at once; by default five times the rate.",
            metavar="UNITS",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Another name of the service that clients may use. Loopback names are always "
            "accepted. Repeatable.",
            metavar="NAME",
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            help="An origin whose web pages may use the service, such as https://app.example. Those "
            "of this machine always may. Repeatable.",
            metavar="ORIGIN",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(help="A certificate (PEM), for HTTPS.", metavar="FILE")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(help="The private key of the certificate.", metavar="FILE")
    ] = None,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="Log each request, as a line of JSON.")
    ] = False,
    trace: Annotated[
        bool,
        typer.Option("--trace", help="Trace requests and calls with OpenTelemetry."),
    ] = False,
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure", help="Serve other machines with --as: anybody may do what the role may."
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the line that reports readiness as JSON.")
    ] = False,
) -> None:
    """Serve the access patterns of a table over HTTP.

    Every pattern is an endpoint: reads are GET with query parameters, writes POST with a JSON object.
    /openapi.json describes them all. Callers are told apart by --auth, or are all the principal of
    --as, which is for development; without either, every pattern answers with status 401. Each request
    runs with the rights of its caller's role, and only on its tenant's items.

    A file that does not exist is created. Prints one line when ready. On SIGTERM or Ctrl-C, the
    service finishes the requests it has accepted, and exits with 0. Needs the extra keyfold[api].
    """
    from keyfold.cli._tables import find_table
    from keyfold.service import ServiceSettings, create_app
    from keyfold.service._runner import Tls, run_app
    from keyfold.service._telemetry import RequestTracer
    from keyfold.store import trace_calls
    from keyfold.wire.server._browsers import check_exposure, is_loopback_address
    from keyfold.wire.server._server import bind

    found = find_table(name, table)
    if tls_key is not None and tls_cert is None:
        raise typer.BadParameter("give the certificate of the key, too.", param_hint="--tls-cert")
    authenticator, limits = find_authentication(found, auth, roles, ids)
    options = find_store_options(db)
    if trace:
        options["on_call"] = trace_calls()
    with bind(host, port) as listener:
        address, bound_port = listener.getsockname()[:2]
        check_exposure(address, has_keys=not roles, insecure=insecure)
        settings = ServiceSettings(
            authenticator=authenticator,
            allow_host=allow_host or (),
            allow_origin=allow_origin or (),
            any_host=not is_loopback_address(address) and not allow_host,
            limits=_read_limits(rate, burst) or limits,
            request_log=sys.stdout if access_log else None,
            tracer=RequestTracer() if trace else None,
        )
        app = create_app(found, db, settings, **options)
        scheme = "http" if tls_cert is None else "https"
        shown = f"[{address}]" if ":" in address else address
        url = f"{scheme}://{shown}:{bound_port}"

        def announce() -> None:
            if as_json:
                line = {"serving": found.name, "url": url, "openapi": f"{url}/openapi.json"}
                print(json.dumps(line), flush=True)
            else:
                print(f"Keyfold serves the patterns of {found.name} at {url}", flush=True)

        tls = None if tls_cert is None else Tls(str(tls_cert), tls_key and str(tls_key))
        run_app(app, listener, on_ready=announce, extra="api", tls=tls)


def find_store_options(db: str) -> dict[str, Any]:
    """Return the options of a store that is opened to be served.

    Cursors and handles of a remote database are sealed with a key that lasts.
    """
    import os

    from keyfold.cli._databases import find_cursor_key

    return {"cursor_key": find_cursor_key(os.environ, Path.home())} if "://" in db else {}


def find_authentication(
    table: Table, auth: Path | None, roles: list[str] | None, ids: list[str] | None
) -> tuple[Authenticator, RateLimits | None]:
    """Return who may call, and how much; raises BadParameter, AuthFileInvalid, KeysUnusable."""
    from keyfold.service import Caller, FixedCaller, Nobody, open_authentication

    principal = read_principal(roles, ids)
    if auth is not None:
        if principal is not None:
            fact = "callers are told apart by --auth. Omit --as or --auth."
            raise typer.BadParameter(fact, param_hint="--as")
        found = open_authentication(str(auth), [table])
        return found.authenticator, found.limits
    if principal is None:
        return Nobody(), None
    return FixedCaller(Caller(principal.roles, principal.ids, name="--as")), None


def _read_limits(rate: float | None, burst: float | None) -> RateLimits | None:
    from keyfold.service import RateLimit, RateLimits

    if rate is None:
        if burst is not None:
            raise typer.BadParameter("it is for --rate. Give --rate, too.", param_hint="--burst")
        return None
    return RateLimits(RateLimit(rate, 5 * rate if burst is None else burst))
