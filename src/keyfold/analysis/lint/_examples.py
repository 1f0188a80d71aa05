"""Examples of rules: for each, a design that it finds fault with, and a near miss.

They are data, in `examples/FAMILY.toml`: `found` and `fine` are modules that declare `table`, with
`IMPORTS` before them. `workload` is a workload file for both, unless there is a `fine_workload`;
`data` says that the table's examples are in a database. The documentation shows them, and the
tests run them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

IMPORTS = """\
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel

from keyfold import *
from keyfold.requests import *
"""


@dataclass(frozen=True, slots=True)
class RuleExample:
    """A design that a rule finds fault with, and a near miss that it does not."""

    found: str
    fine: str
    workload: str | None = None
    # The workload of the near miss, if it is another one.
    fine_workload: str | None = None
    # Whether the table's examples are read as from a database.
    data: bool = False
    # Whether the pattern of the design cannot run, which is what the rule finds.
    fails: bool = False


@cache
def read_examples() -> Mapping[str, RuleExample]:
    """Return the examples of Keyfold's own rules, by code."""
    found: dict[str, RuleExample] = {}
    for file in files("keyfold.analysis.lint").joinpath("examples").iterdir():
        if file.name.endswith(".toml"):
            document: dict[str, dict[str, Any]] = tomllib.loads(file.read_text("utf-8"))
            found |= {code: RuleExample(**each) for code, each in document.items()}
    return found
