"""Known differences of somebody else's engine: which tests it fails, and why.

`differences/NAME.json` lists them as data, and `differences/every.json` what no engine of others
can be told to do. A test that is listed has to fail: one that does not, or is not there, is an
error, so that the list stays true.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

FOLDER = Path(__file__).with_name("differences")

_EVERY = "every"


@dataclass(frozen=True, slots=True)
class Difference:
    """Tests that an engine fails for one reason, which is its own.

    A test is listed as `FILE::NAME`, with whatever parameters, or as `FILE::NAME[PARAMETERS]`;
    `*` stands for any text.
    """

    tests: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one engine."""

    differences: tuple[Difference, ...] = ()

    @classmethod
    def load(cls, name: str) -> Self:
        """Return what is listed for an engine."""
        found: list[Difference] = []
        for file in (_EVERY, name):
            listed = json.loads((FOLDER / f"{file}.json").read_text())["differences"]
            found += [Difference(tuple(each["tests"]), each["reason"]) for each in listed]
        return cls(tuple(found))

    def find_reason(self, test: str) -> str | None:
        """Return why a test fails; None if it must not."""
        for difference in self.differences:
            if any(is_meant(pattern, test) for pattern in difference.tests):
                return difference.reason
        return None

    def find_unused(self, tests: Iterable[str]) -> list[str]:
        """Return what is listed of the files that these tests are in, and is none of them."""
        names = list(tests)
        files = {name.partition("::")[0] for name in names}
        return [
            pattern
            for difference in self.differences
            for pattern in difference.tests
            if pattern.partition("::")[0] in files
            and not any(is_meant(pattern, name) for name in names)
        ]


def is_meant(pattern: str, test: str) -> bool:
    """Tell whether a test is one of those that are listed so.

    >>> is_meant("test_pages.py::test_a_page", "test_pages.py::test_a_page[moto-sync]")
    True
    >>> is_meant("test_pages.py::test_a_page[*-async]", "test_pages.py::test_a_page[moto-sync]")
    False
    """
    if not pattern.endswith("]"):
        test = test.partition("[")[0]
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), test) is not None
