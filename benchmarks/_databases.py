"""The database files of one size: two of the engine, and a bare copy of each."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from benchmarks._bare import BareFile, Checkpoints, fill
from benchmarks._cases import Case, indexed_row_bindings, row_bindings
from benchmarks._draws import Draws
from benchmarks._orders import TABLE, Draw, create_table_request, make_key, row_key
from keyfold.engine import Engine

_BATCH = 25
_SMALL = 10_000


class BenchmarkDatabases:
    """The databases that the cases of one size use."""

    def __init__(self, folder: Path, size: int) -> None:
        self.plain_path, self.indexed_path = folder / "plain.kf", folder / "indexed.kf"
        bare_plain, bare_indexed = folder / "plain.bare", folder / "indexed.bare"
        _load(self.plain_path, size, indexed=False)
        _load(self.indexed_path, size, indexed=True)
        shutil.copyfile(self.plain_path, bare_plain)
        shutil.copyfile(self.indexed_path, bare_indexed)
        self.draws = Draws(size)
        self._plain = Engine.open(self.plain_path, durability="process")
        self._indexed = Engine.open(self.indexed_path, durability="process")
        self._bare_plain = BareFile(bare_plain)
        self._bare_indexed = BareFile(bare_indexed)
        self._checkpoints = Checkpoints(
            [self.plain_path, self.indexed_path, bare_plain, bare_indexed]
        )

    def engine_and_bare(self, case: Case) -> tuple[Engine, BareFile]:
        """Return the engine and the bare file that a case runs on."""
        return (
            self._indexed if case.is_indexed else self._plain,
            self._bare_indexed if case.is_bare_indexed else self._bare_plain,
        )

    def remove(self, case: Case, draws: Sequence[Draw]) -> None:
        """Delete new orders from the engine and the bare file, so that the size stays the same."""
        keys = [make_key(draw.number) for draw in draws]
        engine, bare = self.engine_and_bare(case)
        for first in range(0, len(keys), _BATCH):
            deletes = [{"DeleteRequest": {"Key": key}} for key in keys[first : first + _BATCH]]
            engine.execute("BatchWriteItem", {"RequestItems": {TABLE: deletes}})
        bare.delete_all([row_key(key) for key in keys])

    def checkpoint(self) -> None:
        """Checkpoint the logs of all files, the engine's and the bare ones."""
        self._checkpoints.run()

    def close(self) -> None:
        """Close all files."""
        self._checkpoints.close()
        for each in (self._plain, self._indexed, self._bare_plain, self._bare_indexed):
            each.close()


def _load(path: Path, size: int, *, indexed: bool) -> None:
    """Create a file of the engine with `size` orders.

    The engine creates the table; the rows are written directly into SQLite, which takes a tenth of
    the time and leaves the same file. They are written customer by customer, which is not the order of
    their row keys: pages are as full as in a file that grew by normal use.
    """
    bindings = indexed_row_bindings if indexed else row_bindings
    with Engine.open(path, durability="process") as engine:
        engine.execute("CreateTable", create_table_request(indexed=indexed))
    fill(path, (bindings(Draw(number)) for number in range(size)))
    if size <= _SMALL:
        with Engine.open(path, durability="process") as engine:
            problems = engine.verify()
            assert not problems, problems
