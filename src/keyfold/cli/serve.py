"""`keyfold serve`: a server that any DynamoDB client can talk to."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfold.cli._completion import complete_tables
from keyfold.cli._times import parse_duration

if TYPE_CHECKING:
    # Imported when the command runs, so that --help does not load the model.
    from keyfold.api import WriteCheck
    from keyfold.engine import Engine
    from keyfold.model import Table
    from keyfold.wire.server._process import ProcessSettings

EXAMPLES = (
    "keyfold serve shop.db",
    "keyfold serve --memory --port 0",
    "keyfold serve shop.db --workers 2 --metrics",
    "keyfold serve shop.db --table shop.tables:market",
    "keyfold serve shop.db --buckets exports",
    "keyfold serve shop.db --expiry-grace 30m",
    "keyfold serve --memory --throttling partitions",
    "keyfold serve shop.db --record traffic.jsonl",
    "keyfold serve shop.db --tls-cert cert.pem --tls-key key.pem",
    "keyfold serve shop.db --auth keys.toml --table shop.tables:market",
    "keyfold serve shop.db --allow-host host.docker.internal",
    "keyfold serve shop.db --policy policy.json --id user=ada",
    "keyfold serve shop.db --studio",
)


def serve(
    file: Annotated[
        Path | None, typer.Argument(help="The database file; created if it does not exist.")
    ] = None,
    *,
    memory: Annotated[
        bool, typer.Option("--memory", help="Keep all data in memory; it is lost at exit.")
    ] = False,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 chooses a free one.")] = 8000,
    durability: Annotated[
        str | None,
        typer.Option(
            help="What an acknowledged write survives: durable (a power failure; the default) or "
            "process (a crash of this process)."
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="The number of processes that serve the file.", min=1, max=64)
    ] = 1,
    region: Annotated[str, typer.Option(help="The region in ARNs.")] = "us-east-1",
    buckets: Annotated[
        Path | None,
        typer.Option(help="A folder whose subfolders act as S3 buckets, for exports and imports."),
    ] = None,
    expiry_grace: Annotated[
        timedelta | None,
        typer.Option(
            help="How long expired items stay before they are deleted, such as 48h or 30m; by "
            "default 48h, as on AWS, and 10s with --memory.",
            parser=parse_duration,
            metavar="DURATION",
        ),
    ] = None,
    wording: Annotated[
        str,
        typer.Option(
            help="The wording of errors about requests: 2026, which is DynamoDB's of today, or 2025, "
            "that of all regions until June 2026.",
            metavar="YEAR",
        ),
    ] = "2026",
    throttling: Annotated[
        str | None,
        typer.Option(
            help="Refuse requests as DynamoDB would, by the throughput of partitions, tables and the "
            "account: partitions. By default, only on-demand maximums are enforced.",
            metavar="MODEL",
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            help="Append the keys and units of every request to this file, but no values, for "
            "`keyfold heat --replay`.",
            metavar="FILE",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(help="A certificate (PEM), to serve HTTPS instead of HTTP.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The certificate's private key.")] = None,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Serve Prometheus metrics at /metrics.")
    ] = False,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="Print one line of JSON per request.")
    ] = False,
    auth: Annotated[
        Path | None,
        typer.Option(
            help="A file of access keys (see `keyfold keys`): requests must be signed with one of "
            "them, and have its rights.",
            metavar="FILE",
        ),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            help="A table whose declaration every write must fit: a design, a table of your project, "
            "or MODULE:NAME. With --auth, it also declares the roles of keys; without it, all tables "
            "of your project do. Repeatable.",
            metavar="TABLE",
            autocompletion=complete_tables,
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            help="An IAM policy (JSON) that applies to every request, whatever its access key.",
            metavar="FILE",
        ),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            help="A value that the policy refers to as aws:PrincipalTag/NAME. Repeatable.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Another name of the server that clients may use, such as host.docker.internal. "
            "Loopback names are always accepted. Repeatable.",
            metavar="NAME",
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            help="An origin whose web pages may use the server, such as https://app.example. Those "
            "of this machine always may. Repeatable.",
            metavar="ORIGIN",
        ),
    ] = None,
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure", help="Serve other machines without --auth: anybody may do everything."
        ),
    ] = False,
    check_dates: Annotated[
        bool,
        typer.Option(
            "--check-dates",
            help="Refuse requests that were signed more than five minutes ago, or ahead, as AWS "
            "does, whatever their access key. --auth does so anyway.",
        ),
    ] = False,
    studio: Annotated[
        bool,
        typer.Option(
            "--studio",
            help="Open the studio on the same database, at a URL of its own, which is printed. Who "
            "has that URL may do everything.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the line that reports readiness as JSON.")
    ] = False,
) -> None:
    """Serve a database file to any DynamoDB client.

    Prints one line when ready, with the URL and the environment variables that point the AWS
    SDKs and tools to it. Without --auth, any access key is accepted. With --table, writes that do
    not fit the table's declaration are refused, whatever client sends them. On SIGTERM or Ctrl-C,
    the server finishes the requests it has accepted, and exits with 0.
    """
    # Imported when the command runs, so that --help does not load the model.
    from keyfold.api.wordings import check_wording
    from keyfold.cli._ids import read_ids
    from keyfold.engine.options import check_throttling
    from keyfold.wire.server._browsers import BrowserRules, check_exposure
    from keyfold.wire.server._process import ProcessSettings, run_server
    from keyfold.wire.server._server import bind

    if (file is None) is not memory:
        raise typer.BadParameter("give either a file or --memory.")
    if memory and workers > 1:
        raise typer.BadParameter(
            "several processes cannot share memory. Name a file, or omit --workers.",
            param_hint="--workers",
        )
    if studio and workers > 1:
        fact = "it needs one worker. Omit --workers, or run keyfold studio on the file beside it."
        raise typer.BadParameter(fact, param_hint="--studio")
    _check_rules(auth, policy, ids)
    settings = ProcessSettings(
        path=":memory:" if file is None else str(file),
        durability=durability,
        region=region,
        buckets=None if buckets is None else str(buckets),
        expiry_grace=None if expiry_grace is None else expiry_grace.total_seconds(),
        tls_cert=None if tls_cert is None else str(tls_cert),
        tls_key=None if tls_key is None else str(tls_key),
        has_metrics=metrics,
        has_access_log=access_log,
        auth=None if auth is None else str(auth),
        policy=None if policy is None else str(policy),
        ids=read_ids(ids or ()),
        allow_host=allow_host or (),
        allow_origin=allow_origin or (),
        insecure=insecure,
        # With keys, the dates are a part of what is verified.
        check_dates=check_dates and auth is None,
        wording=check_wording(wording),
        throttling=check_throttling(throttling),
        record=None if record is None else str(record),
    )
    declared, checks, ruled = _find_rules(table, has_keys=auth is not None)
    with bind(host, port) as listener:
        scheme = "http" if tls_cert is None else "https"
        bound_host, bound_port = listener.getsockname()[:2]
        check_exposure(bound_host, has_keys=auth is not None, insecure=insecure)
        # An invalid option is reported here, before a file is created or a worker started.
        BrowserRules(settings.allow_host, settings.allow_origin)
        shown_host = f"[{bound_host}]" if ":" in bound_host else bound_host
        url = f"{scheme}://{shown_host}:{bound_port}"

        studios: list[str] = []

        def announce() -> None:
            _announce(settings.path, url, region, has_keys=auth is not None, as_json=as_json)
            for each in studios:
                _announce_studio(settings.path, each, as_json=as_json)

        if workers == 1:
            from keyfold.wire.server._metrics import Metrics

            run_server(
                settings,
                listener,
                on_ready=announce,
                tables=ruled,
                write_checks=checks,
                metrics=Metrics(),
                beside=partial(_run_studio, settings, declared, studios) if studio else None,
            )
        else:
            from keyfold.wire.server._workers import run_workers

            run_workers(
                settings,
                listener,
                workers,
                on_ready=announce,
                tables=ruled,
                write_checks=checks,
            )


def _find_rules(
    named: list[str] | None, *, has_keys: bool
) -> tuple[list[Table], Mapping[str, WriteCheck], list[Table]]:
    """Return the tables that are declared, the checks of their writes, and the tables of keys' roles."""
    if not named and not has_keys:
        # A server that knows no declarations does not load the model.
        return [], {}, []
    from keyfold.cli._tables import find_project, find_tables
    from keyfold.store import make_write_checks

    declared = [found for path in named or () for found in find_tables(None, path)]
    ruled = declared if named else find_project().require_all()
    return declared, make_write_checks(declared), ruled


@contextmanager
def _run_studio(
    settings: ProcessSettings,
    declared: list[Table],
    urls: list[str],
    engine: Engine,
) -> Generator[None]:
    """Run the studio beside a server, on its engine; its URL is added to `urls`."""
    from keyfold.cli._tables import find_project
    from keyfold.service._runner import running_app
    from keyfold.studio import StudioSettings, create_studio
    from keyfold.studio._opening import make_workspace
    from keyfold.wire.server._server import bind

    known = find_project().tables
    workspace = make_workspace(
        engine, declared, known=known, url=settings.path, traffic_file=settings.record
    )
    shown = StudioSettings()
    with bind("127.0.0.1", 0) as listener:
        app = create_studio(workspace, shown)
        with running_app(app, listener, extra="api"):
            urls.append(f"http://127.0.0.1:{listener.getsockname()[1]}/?token={shown.token}")
            yield


def _check_rules(auth: Path | None, policy: Path | None, ids: list[str] | None) -> None:
    if auth is not None and policy is not None:
        fact = "the keys of --auth have their own rights. Omit --policy or --auth."
        raise typer.BadParameter(fact, param_hint="--policy")
    if ids and policy is None:
        fact = "it is for --policy. Give --policy, or give the id to a key: keyfold keys add --id."
        raise typer.BadParameter(fact, param_hint="--id")


def _announce(path: str, url: str, region: str, *, has_keys: bool, as_json: bool) -> None:
    variables = {
        "AWS_ENDPOINT_URL_DYNAMODB": url,
        # With --auth, the user of the client already has a key.
        **({} if has_keys else {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}),
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
    }
    if as_json:
        print(json.dumps({"serving": path, "url": url, "environment": variables}), flush=True)
    else:
        settings = " ".join(f"{name}={value}" for name, value in variables.items())
        print(f"Keyfold serves {path} at {url} -- for clients: {settings}", flush=True)


def _announce_studio(path: str, url: str, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"studio": path, "url": url}), flush=True)
    else:
        print(f"Keyfold Studio shows {path} at {url}", flush=True)
