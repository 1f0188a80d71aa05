"""The type of the function that reviews tables in tests."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from keyfold.model import Table
    from keyfold.store import Store

SeverityName = Literal["note", "warning", "error"]


class LintTable(Protocol):
    """Reviews a table in a test: the type of the fixture `keyfold_lint`."""

    def __call__(
        self,
        table: Table,
        /,
        *,
        severity: SeverityName = "warning",
        ignore: Collection[str] = (),
        workload: Path | None = None,
        store: Store | None = None,
    ) -> None:
        """Fail the test if lint finds something of this severity, or something more serious.

        `ignore` has codes of rules that do not count; to ignore a finding where it stands, with the
        reason, use `lint_ignore`. `workload` is a workload file, by default the one beside the
        declaration. With `store`, its items are reviewed instead of examples.
        """
        ...
