"""What the commands that analyse a table share: options, and the profile of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    # Imported when a command runs, so that --help does not load the model.
    from keyfold.analysis import SampleData, TableProfile
    from keyfold.model import Table

WorkloadFile = Annotated[
    Path | None,
    typer.Option(
        "--workload",
        help="The workload: a TOML file; by default workload.toml beside the declaration.",
        metavar="FILE",
    ),
]
PricesFile = Annotated[
    Path | None,
    typer.Option(
        "--prices", help="A TOML file of prices; by default those of us-east-1.", metavar="FILE"
    ),
]
SampleUrl = Annotated[
    str | None,
    typer.Option(
        "--sample",
        help="A database to measure: its items instead of examples.",
        metavar="URL",
    ),
]


def make_profile(table: Table, workload: Path | None, sample: str | None) -> TableProfile:
    """Run every pattern on examples, or on a sample of a database, and return what each does."""
    from keyfold.analysis import profile_table, read_workload

    return profile_table(table, take_sample(table, sample), read_workload(table, workload))


def take_sample(table: Table, url: str | None) -> SampleData:
    """Return the sample of a database, or the table's examples; raises TableMissing."""
    from keyfold.analysis import find_sample, sample_database
    from keyfold.cli._databases import require_table
    from keyfold.connect import open_executor

    if url is None:
        return find_sample(table)
    with open_executor(url, keeps_expired=True) as executor:
        require_table(executor, table.name, url)
        return sample_database(table, executor)
