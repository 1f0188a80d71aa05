"""`keyfold doc`: the design document of a table, from its declaration."""

from __future__ import annotations

import json
import shlex
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfold.cli._analysis import PricesFile, SampleUrl, WorkloadFile, take_sample
from keyfold.cli._choices import DocumentFormat
from keyfold.cli._options import AsJson, OneTableArgument, TableOption
from keyfold.cli._output_files import OutputFile

if TYPE_CHECKING:
    # Imported when the command runs, so that --help does not load the model.
    from keyfold.export.documents import DesignDocument
    from keyfold.model import Table

EXAMPLES = (
    "keyfold doc market",
    "keyfold doc market --output market.html",
    "keyfold doc --table shop.tables:market --output docs/market.md --svg docs",
    "keyfold doc --table shop.tables:market --check docs/market.md --svg docs",
)


def doc(
    name: OneTableArgument = None,
    *,
    table: TableOption = None,
    form: Annotated[
        DocumentFormat | None,
        typer.Option("--format", help="By default that of FILE by its name, or markdown."),
    ] = None,
    output: OutputFile = None,
    svg: Annotated[
        Path | None,
        typer.Option(
            help="Write pictures of item collections here, and link to them.", metavar="FOLDER"
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(help="Write nothing; exit with 1 if this file is stale.", metavar="FILE"),
    ] = None,
    workload: WorkloadFile = None,
    prices: PricesFile = None,
    sample: SampleUrl = None,
    as_json: AsJson = False,
) -> None:
    """Write the design document of a table, as Markdown or as one HTML page.

    It has keys, entities and their attributes, item collections with example items, indexes,
    access patterns with the units of a call, shards and roles, expiry, the findings of keyfold
    lint, and the forecast of keyfold cost. The same declaration gives the same document, so
    --check can tell whether the file in a repository is up to date.

    An HTML page contains its pictures. Markdown has tables in their place unless --svg is given.
    With --sample, units are measured on a database, but none of its values are shown.
    """
    from keyfold.cli._documents import (
        DocumentFile,
        choose_format,
        find_stale,
        list_pictures,
        save,
        write_text,
    )
    from keyfold.cli._tables import find_table

    if output is not None and check is not None:
        fact = f"it writes a file, and --check {check} writes nothing; give one of them."
        raise typer.BadParameter(fact, param_hint="--output")
    file = output or check
    chosen = choose_format(form, file)
    if chosen is DocumentFormat.HTML and svg is not None:
        fact = "an HTML page contains its pictures; the option is for Markdown."
        raise typer.BadParameter(fact, param_hint="--svg")
    document = _describe(find_table(name, table), workload, prices, sample)
    text = write_text(document, chosen, file, svg)
    files = [] if svg is None else list_pictures(document, svg)
    if file is not None:
        files.append(DocumentFile(file, text))
    if check is not None:
        named = [name] if name is not None else ["--table", table] if table is not None else []
        given = {"format": form, "output": check, "svg": svg}
        given |= {"workload": workload, "prices": prices, "sample": sample}
        options = [(f"--{key}", str(each)) for key, each in given.items() if each is not None]
        renew = shlex.join(["keyfold", "doc", *named, *chain.from_iterable(options)])
        stale = list(find_stale(files))
        for sentence in stale:
            print(f"{sentence}; run `{renew}`.", file=sys.stderr)
        raise typer.Exit(int(bool(stale)))
    save(files)
    if as_json:
        print(json.dumps(document.to_json(), indent=2, ensure_ascii=False))
    elif output is None:
        print(text, end="")


def _describe(
    table: Table, workload: Path | None, prices: Path | None, sample: str | None
) -> DesignDocument:
    from keyfold.analysis import profile_table, read_workload
    from keyfold.analysis.cost import read_prices, report_cost
    from keyfold.analysis.lint import Design, review
    from keyfold.export.documents import describe_design

    known = read_prices(prices)
    taken, use = take_sample(table, sample), read_workload(table, workload)
    profile = profile_table(table, taken, use)
    found = review(Design(table, use, profile, None if sample is None else taken))
    return describe_design(profile, found, report_cost(profile, known))
