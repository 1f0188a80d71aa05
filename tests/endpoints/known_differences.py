"""Known differences of another engine: which tests it fails, and why.

`differences/NAME.json` lists them as data, and `differences/every.json` the tests that need
abilities no other engine has. A listed test has to fail: one that passes, or does not exist, is an
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
    """Tests that an engine fails for one reason.

    A test is listed as `FILE::NAME`, which covers all parameters, or as `FILE::NAME[PARAMETERS]`;
    `*` stands for any text.
    """

    tests: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class KnownDifferences:
    """The known differences of one engine."""

    differences: tuple[Difference, ...] = ()

    @classmethod
    def load(cls, name: str) -> Self:
        """Read the differences that are listed for an engine."""
        found: list[Difference] = []
        for file in (_EVERY, name):
            listed = json.loads((FOLDER / f"{file}.json").read_text())["differences"]
            found += [Difference(tuple(each["tests"]), each["reason"]) for each in listed]
        return cls(tuple(found))

    def find_reason(self, test: str) -> str | None:
        """Return why a test is expected to fail; None if it is not."""
        for difference in self.differences:
            if any(matches(pattern, test) for pattern in difference.tests):
                return difference.reason
        return None

    def find_unused(self, tests: Iterable[str]) -> list[str]:
        """Return the listed tests that do not exist, among those in the files of `tests`."""
        names = list(tests)
        files = {name.partition("::")[0] for name in names}
        return [
            pattern
            for difference in self.differences
            for pattern in difference.tests
            if pattern.partition("::")[0] in files
            and not any(matches(pattern, name) for name in names)
        ]


def matches(pattern: str, test: str) -> bool:
    """Return whether a pattern of the list covers a test.

    >>> matches("test_pages.py::test_a_page", "test_pages.py::test_a_page[moto-sync]")
    True
    >>> matches("test_pages.py::test_a_page[*-async]", "test_pages.py::test_a_page[moto-sync]")
    False
    """
    if not pattern.endswith("]"):
        test = test.partition("[")[0]
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), test) is not None
