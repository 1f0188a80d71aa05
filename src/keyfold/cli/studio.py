"""`keyfold studio`: the design and the data of tables in a browser."""

from __future__ import annotations

import json
import tempfile
import webbrowser
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfold.cli._completion import complete_tables

if TYPE_CHECKING:
    # Imported when the command runs, so that --help does not load the model.
    from keyfold.model import Table
    from keyfold.studio import Workspace

EXAMPLES = (
    "keyfold studio --demo",
    "keyfold studio shop.db",
    "keyfold studio shop.db --table shop.tables:market --read-only",
    "keyfold studio --table shop.tables:market",
    "keyfold studio dynamodb://eu-west-1 --table shop.tables:market",
    "keyfold studio http://127.0.0.1:8000 --port 9000 --no-open",
)


def studio(
    database: Annotated[
        str | None,
        typer.Argument(
            help="The database: a file, http://HOST:PORT, or dynamodb://REGION. Without it, the "
            "tables of --table are shown in memory, with sample items.",
            metavar="[FILE|URL]",
        ),
    ] = None,
    *,
    table: Annotated[
        list[str] | None,
        typer.Option(
            help="A table's declaration: a design, a table of your project, or MODULE:NAME. "
            "Repeatable.",
            metavar="TABLE",
            autocompletion=complete_tables,
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Show the four included designs, with their data.")
    ] = False,
    port: Annotated[
        int, typer.Option(help="The port to listen on; 0 chooses a free one.", min=0, max=65_535)
    ] = 0,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Refuse everything that changes the database.")
    ] = False,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the line that reports readiness as JSON.")
    ] = False,
) -> None:
    """Open a browser on the design and the data of tables.

    Tables of the database that --table does not name are declared by your project or by an included
    design, if they have one of their names; otherwise, a declaration is inferred from their items.
    Expired items are not deleted while a file is open here.

    Prints one line when ready, with a URL. It contains a token, so that only who sees it can use the
    studio. The studio listens on this machine only, and needs no network. On SIGTERM or Ctrl-C, it
    exits with 0. Needs the extra keyfold[api].
    """
    from keyfold.service._runner import run_app
    from keyfold.studio import StudioSettings, create_studio
    from keyfold.wire.server._server import bind

    with bind("127.0.0.1", port) as listener, _open(database, table, demo, read_only) as workspace:
        settings = StudioSettings()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/?token={settings.token}"

        def announce() -> None:
            if as_json:
                print(json.dumps({"serving": workspace.name, "url": url}), flush=True)
            else:
                print(f"Keyfold Studio shows {workspace.name} at {url}", flush=True)
            if not no_open:
                webbrowser.open(url)

        run_app(create_studio(workspace, settings), listener, on_ready=announce, extra="api")


@contextmanager
def _open(
    database: str | None,
    named: list[str] | None,
    demo: bool,  # noqa: FBT001 - as the command line has it
    read_only: bool,  # noqa: FBT001
) -> Generator[Workspace]:
    """Open what the command line names; raises BadParameter."""
    from keyfold.cli._tables import find_project, find_table
    from keyfold.studio import open_workspace

    if demo:
        if database is not None or named:
            fact = "it has its own database. Omit the other arguments, or --demo."
            raise typer.BadParameter(fact, param_hint="--demo")
        with _demo_database() as file:
            tables = _list_designs()
            with open_workspace(file, tables, read_only=read_only, name="demo") as workspace:
                yield workspace
        return
    tables = [find_table(each, None) for each in named or ()]
    project = [] if tables and database is None else find_project().tables
    if database is None and not tables:
        tables = project
    if database is None and not tables:
        fact = "name a database or --table, or see the included designs with --demo."
        raise typer.BadParameter(fact, param_hint="FILE|URL")
    with open_workspace(database, tables, known=project, read_only=read_only) as workspace:
        yield workspace


@contextmanager
def _demo_database() -> Generator[str]:
    """Yield the path of a temporary database with the data of the four designs."""
    from keyfold.cli._demo import run_demo
    from keyfold.cli._terminal import make_progress_console

    now = datetime.now(UTC).replace(microsecond=0)
    with tempfile.TemporaryDirectory(prefix="keyfold-") as folder:
        file = str(Path(folder) / "demo.db")
        with make_progress_console().status("Loading …") as status:
            run_demo(file, now=now, on_design=lambda name: status.update(f"Loading {name} …"))
        yield file


def _list_designs() -> list[Table]:
    from importlib import import_module

    from keyfold.cli._tables import DESIGNS

    # The market first: it has the most to see.
    names = sorted(DESIGNS, key=lambda name: name != "market")
    return [import_module(f"keyfold.designs.{name}").table for name in names]
