"""The `keyfold` program: its commands, and the conversion of errors to text and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from keyfold import __version__
from keyfold.cli import (
    api,
    apply,
    backfill,
    backup,
    copy,
    cost,
    demo,
    doc,
    dump,
    export,
    heat,
    imports,
    init,
    keys,
    letsgo,
    lint,
    load,
    mcp,
    patterns,
    plan,
    restore,
    run,
    serve,
    shell,
    sql,
    stream,
    studio,
    verify,
)
from keyfold.cli._errors import PublicError, UsageError, asks_for_json, name_option, print_error
from keyfold.cli._help import WrappedHelpGroup
from keyfold.cli._options import show_examples
from keyfold.errors import KeyfoldError
from keyfold.terminals import escaped_output

EXIT_ABORTED = 1
EXIT_USAGE = 2

app = typer.Typer(
    name="keyfold",
    no_args_is_help=True,
    cls=WrappedHelpGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    # Plain help: it imports nothing extra, fits any terminal, and the reference pages show it.
    rich_markup_mode=None,
    # An unexpected error shows Python's own traceback, which a bug report needs.
    pretty_exceptions_enable=False,
)

app.command(epilog=show_examples(*api.EXAMPLES))(api.api)
app.command(epilog=show_examples(*apply.EXAMPLES))(apply.apply)
app.command(epilog=show_examples(*backfill.EXAMPLES))(backfill.backfill)
app.command(epilog=show_examples(*backup.EXAMPLES))(backup.backup)
app.command(epilog=show_examples(*copy.EXAMPLES))(copy.copy)
app.command(epilog=show_examples(*cost.EXAMPLES))(cost.cost)
app.command(epilog=show_examples(*demo.EXAMPLES))(demo.demo)
app.command(epilog=show_examples(*doc.EXAMPLES))(doc.doc)
app.command(epilog=show_examples(*dump.EXAMPLES))(dump.dump)
app.command(epilog=show_examples(*heat.EXAMPLES))(heat.heat)
app.command(epilog=show_examples(*init.EXAMPLES))(init.init)
app.command(epilog=show_examples(*lint.EXAMPLES))(lint.lint)
app.command(epilog=show_examples(*load.EXAMPLES))(load.load)
app.command(epilog=show_examples(*mcp.EXAMPLES))(mcp.mcp)
app.command(epilog=show_examples(*patterns.EXAMPLES))(patterns.patterns)
app.command(epilog=show_examples(*plan.EXAMPLES))(plan.plan)
app.command(epilog=show_examples(*restore.EXAMPLES))(restore.restore)
app.command(epilog=show_examples(*run.EXAMPLES), **run.SETTINGS)(run.run)
app.command(epilog=show_examples(*serve.EXAMPLES))(serve.serve)
app.command(epilog=show_examples(*shell.EXAMPLES))(shell.shell)
app.command(epilog=show_examples(*sql.EXAMPLES))(sql.sql)
app.command(epilog=show_examples(*studio.EXAMPLES))(studio.studio)
app.command(epilog=show_examples(*verify.EXAMPLES))(verify.verify)
app.add_typer(export.app, name="export")
app.add_typer(imports.app, name="import")
app.add_typer(keys.app, name="keys")
app.add_typer(letsgo.app, name="letsgo")
app.add_typer(stream.app, name="stream")


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it with the flag
    if wanted:
        print(f"keyfold {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Single-table DynamoDB design as running Python.

    Exit codes: 0 for success; 1 for a negative result, as each command's help
    says; 2 if the command could not run, such as after a usage error.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program with `arguments`, by default those of the process, and exit."""
    with escaped_output():
        _run(sys.argv[1:] if arguments is None else list(arguments))


def _run(words: list[str]) -> NoReturn:
    as_json = asks_for_json(words)
    try:
        # Without --json, typer prints usage errors itself, with the usage line.
        code = app(args=words, prog_name="keyfold", standalone_mode=not as_json)
    except KeyfoldError as error:
        print_error(name_option(error, words), as_json=as_json)
        sys.exit(EXIT_USAGE)
    except (PublicError, UsageError) as error:
        print_error(error, as_json=as_json)
        sys.exit(EXIT_USAGE)
    except typer.Abort:
        # The user interrupted a prompt, or input ended.
        sys.exit(EXIT_ABORTED)
    # Commands return nothing; the code of a typer.Exit is returned by `app`.
    sys.exit(code or 0)
