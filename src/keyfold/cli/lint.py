"""`keyfold lint`: review a table by its declaration, its patterns and its data."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfold import __version__
from keyfold.cli._analysis import WorkloadFile, take_sample
from keyfold.cli._choices import FindingFormat, LeastSeverity
from keyfold.cli._options import AsJson, TableArgument, TableOption
from keyfold.cli._quantities import count_of

if TYPE_CHECKING:
    # Imported when the command runs, so that --help does not load the model.
    from keyfold.analysis.lint import Review
    from keyfold.model import Table

EXAMPLES = (
    "keyfold lint pantry",
    "keyfold lint --table shop.tables:market --severity error",
    "keyfold lint market --rule P01 --rule P03 --json",
    "keyfold lint --table shop.tables:market --db shop.db --workload summer.toml",
    "keyfold lint --format sarif > lint.sarif",
    "keyfold lint --table shop.tables:market --fix",
    "keyfold lint --explain P01",
)

Reviews = dict[str, "Review"]


def lint(
    name: TableArgument = None,
    *,
    table: TableOption = None,
    workload: WorkloadFile = None,
    db: Annotated[
        str | None,
        typer.Option(
            "--db",
            "--sample",
            help="A database to review: its items instead of examples.",
            metavar="URL",
        ),
    ] = None,
    severity: Annotated[
        LeastSeverity, typer.Option(help="Exit with 1 from this severity.")
    ] = LeastSeverity.WARNING,
    rule: Annotated[
        list[str] | None,
        typer.Option(help="Show the findings of this rule alone; may be repeated.", metavar="CODE"),
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Edit the source where that is mechanical.")
    ] = False,
    explain: Annotated[
        str | None, typer.Option(help="Explain a rule, and review nothing.", metavar="CODE")
    ] = None,
    output: Annotated[
        FindingFormat | None, typer.Option("--format", help="How to print the findings.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Review a table by its declaration and access patterns.

    Every pattern runs on example items in memory, or on a sample of the items of a database. Rates
    and counts come from the declaration and the workload file; rules that need rates are skipped
    if there are none. A finding is suppressed where it stands, with a reason:
    lint_ignore={"P01": "a nightly job"}.

    --fix edits files below the current folder, and shows the changes.

    Exits with 1 if there is a finding of the given severity, or a more serious one.
    """
    from keyfold.analysis.lint import Severity
    from keyfold.cli._lint_text import describe_rule, print_rule
    from keyfold.cli._tables import find_tables
    from keyfold.cli._terminal import make_console

    if as_json and output not in (None, "json"):
        raise typer.BadParameter(f"it contradicts --format {output}.", param_hint="--json")
    if explain is not None:
        (code,) = _check_codes([explain], "--explain")
        if as_json:
            print(json.dumps(describe_rule(code), indent=2, ensure_ascii=False))
        else:
            print_rule(make_console(), code)
        return
    codes = None if rule is None else _check_codes(rule, "--rule")
    tables = find_tables(name, table)
    if workload is not None and len(tables) > 1:
        known = ", ".join(each.name for each in tables)
        raise typer.BadParameter(f"it is for one table; name one of {known}.", param_hint="TABLE")
    reviews = {each.name: _review(each, workload, db, codes) for each in tables}
    if fix:
        reviews = _fix(reviews)
    _print(reviews, FindingFormat.JSON if as_json else output or FindingFormat.TEXT)
    least = Severity.parse(severity)
    worst = [found for review in reviews.values() if (found := review.worst()) is not None]
    raise typer.Exit(int(any(each >= least for each in worst)))


def _review(table: Table, workload: Path | None, db: str | None, codes: list[str] | None) -> Review:
    from keyfold.analysis.lint import review_table

    data = None if db is None else take_sample(table, db)
    return review_table(table, workload, data=data, codes=codes)


def _fix(reviews: Reviews) -> Reviews:
    """Edit the sources, show the changes, and return the reviews without what they mend."""
    from keyfold.analysis.lint import make_fixes

    fixes = make_fixes([found for review in reviews.values() for found in review.findings], Path())
    for each in fixes:
        each.write()
        # Findings may be for a program, which reads standard output.
        print(each.diff(), file=sys.stderr)
    mended = {id(found) for each in fixes for found in each.findings}
    print(f"Fixed {count_of(len(mended), 'finding')}.", file=sys.stderr)
    return {
        name: replace(
            review, findings=tuple(each for each in review.findings if id(each) not in mended)
        )
        for name, review in reviews.items()
    }


def _print(reviews: Reviews, output: FindingFormat) -> None:
    from keyfold.analysis.lint import to_sarif
    from keyfold.cli._lint_text import print_review
    from keyfold.cli._terminal import make_console

    match output:
        case FindingFormat.JSON:
            found = [each.to_json() for review in reviews.values() for each in review.findings]
            print(json.dumps(found, indent=2, ensure_ascii=False))
        case FindingFormat.SARIF:
            document = to_sarif(reviews.values(), Path.cwd(), __version__)
            print(json.dumps(document, indent=2, ensure_ascii=False))
        case FindingFormat.TEXT:
            console = make_console()
            for named, review in reviews.items():
                print_review(console, named, review)


def _check_codes(codes: list[str], hint: str) -> list[str]:
    from keyfold.analysis.lint import list_rules

    known = list_rules()
    found = [code.upper() for code in codes]
    for code in found:
        if code not in known:
            fact = f"there is no rule {code!r}; there are {', '.join(known)}."
            raise typer.BadParameter(fact, param_hint=hint)
    return found
