"""Cases of lint rules: small designs, each with what a rule finds in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from keyfold import Table
from keyfold.analysis import SampleData, find_sample, profile_table, read_workload
from keyfold.analysis.lint import Design, Finding, review
from keyfold.analysis.workload import CostSettings
from keyfold.values import Item

NO_SETTINGS = CostSettings()


@dataclass(frozen=True)
class RuleCase:
    """A design with the subjects about which a rule has findings: none for a near miss.

    `items` are those of a database; without any, only the declaration is reviewed. `settings` are
    those of a workload file.
    """

    code: str
    make: Callable[[], Table]
    subjects: tuple[str, ...]
    items: tuple[Item, ...] | None = None
    settings: CostSettings = NO_SETTINGS

    def __str__(self) -> str:
        return f"{self.code}-{self.make.__name__}"


@dataclass
class RuleCases:
    """The cases of a family, in the order in which they are declared."""

    listed: list[RuleCase] = field(default_factory=list[RuleCase])

    def finds(
        self,
        code: str,
        *subjects: str,
        items: Sequence[Item] | None = None,
        settings: CostSettings = NO_SETTINGS,
    ) -> Callable[[Callable[[], Table]], Callable[[], Table]]:
        """Return the decorator of a design in which a rule finds something."""
        return self._add(code, subjects, items, settings)

    def passes(
        self,
        code: str,
        *,
        items: Sequence[Item] | None = None,
        settings: CostSettings = NO_SETTINGS,
    ) -> Callable[[Callable[[], Table]], Callable[[], Table]]:
        """Return the decorator of a near miss: a design in which a rule finds nothing."""
        return self._add(code, (), items, settings)

    def _add(
        self,
        code: str,
        subjects: tuple[str, ...],
        items: Sequence[Item] | None,
        settings: CostSettings,
    ) -> Callable[[Callable[[], Table]], Callable[[], Table]]:
        def decorate(make: Callable[[], Table]) -> Callable[[], Table]:
            given = None if items is None else tuple(items)
            self.listed.append(RuleCase(code, make, subjects, given, settings))
            return make

        return decorate

    def find_incomplete(self, codes: Sequence[str]) -> list[str]:
        """Return those of the codes that lack a design with a finding, or a near miss."""
        return [
            code
            for code in codes
            if {bool(case.subjects) for case in self.listed if case.code == code} != {True, False}
        ]


def find(case: RuleCase) -> list[Finding]:
    """Return the findings of a case's rule."""
    table = case.make()
    workload = replace(read_workload(table), settings=case.settings)
    data = None
    if case.items is not None:
        data = SampleData(table, case.items, "database", counted={})
    sample = data or find_sample(table)
    design = Design(table, workload, profile_table(table, sample, workload), data)
    return [each for each in review(design).findings if each.code == case.code]
