"""`keyfold serve`: a server that any DynamoDB client can talk to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = (
    "keyfold serve shop.db",
    "keyfold serve --memory --port 0",
    "keyfold serve shop.db --workers 2 --metrics",
    "keyfold serve shop.db --buckets exports",
    "keyfold serve shop.db --tls-cert cert.pem --tls-key key.pem",
)


def serve(
    file: Annotated[
        Path | None, typer.Argument(help="The database file; made if it is not there.")
    ] = None,
    *,
    memory: Annotated[
        bool, typer.Option("--memory", help="Keep everything in memory, and nothing after.")
    ] = False,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes a free one.")] = 8000,
    durability: Annotated[
        str | None,
        typer.Option(
            help="What an answered write survives: durable (the loss of power, the default) "
            "or process (the end of this process)."
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="How many processes serve the file.", min=1, max=64)
    ] = 1,
    region: Annotated[str, typer.Option(help="The region that ARNs name.")] = "us-east-1",
    buckets: Annotated[
        Path | None,
        typer.Option(help="A folder whose folders are S3 buckets, for exports and imports."),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(help="A certificate (PEM): serve HTTPS instead of HTTP.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The certificate's private key.")] = None,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Answer /metrics, for Prometheus.")
    ] = False,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="Print a line of JSON for each request.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the line that says it is ready as JSON.")
    ] = False,
) -> None:
    """Serve a database file to any DynamoDB client.

    Prints one line when it is ready: the URL, and the environment variables by which the AWS
    SDKs and tools find it. Any access key will do. SIGTERM and Ctrl-C finish what was accepted
    and exit with 0.
    """
    from keyfold.wire.server._process import Settings, run_server
    from keyfold.wire.server._server import bind

    if (file is None) is not memory:
        raise typer.BadParameter("name a file, or give --memory, and not both.")
    if memory and workers > 1:
        raise typer.BadParameter(
            "several processes cannot share memory. Name a file, or leave --workers out.",
            param_hint="--workers",
        )
    settings = Settings(
        path=":memory:" if file is None else str(file),
        durability=durability,
        region=region,
        buckets=None if buckets is None else str(buckets),
        tls_cert=None if tls_cert is None else str(tls_cert),
        tls_key=None if tls_key is None else str(tls_key),
        has_metrics=metrics,
        has_access_log=access_log,
    )
    with bind(host, port) as listener:
        scheme = "http" if tls_cert is None else "https"
        bound_host, bound_port = listener.getsockname()[:2]
        shown_host = f"[{bound_host}]" if ":" in bound_host else bound_host
        url = f"{scheme}://{shown_host}:{bound_port}"

        def announce() -> None:
            _announce(settings.path, url, region, as_json=as_json)

        if workers == 1:
            from keyfold.wire.server._metrics import Metrics

            run_server(settings, listener, on_ready=announce, metrics=Metrics())
        else:
            from keyfold.wire.server._workers import run_workers

            run_workers(settings, listener, workers, on_ready=announce)


def _announce(path: str, url: str, region: str, *, as_json: bool) -> None:
    variables = {
        "AWS_ENDPOINT_URL_DYNAMODB": url,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
    }
    if as_json:
        print(json.dumps({"serving": path, "url": url, "environment": variables}), flush=True)
    else:
        settings = " ".join(f"{name}={value}" for name, value in variables.items())
        print(f"Keyfold serves {path} at {url} -- for clients: {settings}", flush=True)
