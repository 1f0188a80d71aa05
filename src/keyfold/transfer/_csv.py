"""CSV sources and targets: a folder with a file for each entity, or one file of one entity."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from keyfold.errors import SourceUnreadable
from keyfold.model import Table
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.transfer._cells import OTHER, from_cells, from_whole, list_columns, to_cells
from keyfold.transfer._entities import GUARDS, Reject
from keyfold.transfer._files import FileTarget, join_files, part_name
from keyfold.transfer._sources import Estimate, ItemSource, SourceBatch
from keyfold.transfer._targets import ClassifiedItem, WriteResult
from keyfold.values import Item, item_size_bytes

_BATCH_ROWS = 500
# A cell may hold a whole item, as JSON.
_LONGEST_CELL = 4 << 20
_SUFFIX = ".csv"


class CsvSource:
    """CSV files, each of which is a segment with the items of one entity."""

    def __init__(self, path: Path, table: Table, entity: str | None) -> None:
        table.check()
        self._path, self._table = path, table
        self._files = _find_files(path, table, entity)
        self.segments = tuple(self._files)
        self._estimate = Estimate(sum(file.stat().st_size for file, _ in self._files.values()))
        for file, name in self._files.values():
            _check_columns(file, table.entities.get(name))

    @property
    def expected_items(self) -> int | None:
        """An estimate of the number of items, from those read so far."""
        return self._estimate.items

    def describe(self) -> dict[str, Any]:
        """Return what identifies this source, with file sizes that reveal a changed file."""
        sizes = {name: file.stat().st_size for name, (file, _) in self._files.items()}
        return {"source": str(self._path.absolute()), "file_sizes": sizes, "form": "csv"}

    def read(self, segment: str, position: Any) -> Iterator[SourceBatch]:
        """Read a file's rows, after the first `position` of them."""
        file, entity = self._files[segment]
        schema = self._table.entities.get(entity)
        rows = _read_rows(file)
        columns = next(rows, list[str]())
        done = size = 0
        items: list[Item] = []
        rejects: list[Reject] = []
        for cells in rows:
            done += 1
            if done <= (position or 0):
                continue
            # The cells and separators, without quotes: close enough for the estimate.
            size += sum(map(len, cells)) + len(cells) + 1
            try:
                items.append(_read_item(schema, columns, cells))
            except ItemMismatch as error:
                rejects.append(Reject(str(error), line=_to_row(cells).decode().rstrip()))
            if len(items) + len(rejects) == _BATCH_ROWS:
                self._estimate.add(len(items), size)
                size = 0
                yield SourceBatch(items, done, sum(map(item_size_bytes, items)), rejects=rejects)
                items, rejects = [], []
        size_bytes = sum(map(item_size_bytes, items))
        yield SourceBatch(items, done, size_bytes, is_last=True, rejects=rejects)


def _read_item(schema: EntitySchema | None, columns: Sequence[str], cells: Sequence[str]) -> Item:
    if len(cells) != len(columns):
        raise ItemMismatch(f"the row has {len(cells)} cells; there are {len(columns)} columns")
    if schema is None:
        return from_whole(cells[0])
    return from_cells(schema, dict(zip(columns, cells, strict=True)))


def _read_rows(file: Path) -> Iterator[list[str]]:
    csv.field_size_limit(max(_LONGEST_CELL, csv.field_size_limit()))
    try:
        # Spreadsheets write a byte order mark before the first column's name.
        with file.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            try:
                yield from (row for row in reader if row)
            except csv.Error as error:
                raise SourceUnreadable(
                    f"{file}:{reader.line_num}", f"it is not valid CSV: {error}"
                ) from None
    except UnicodeDecodeError as error:
        raise SourceUnreadable(str(file), f"it is not UTF-8: {error.reason}") from None
    except OSError as error:
        raise SourceUnreadable(str(file), f"it cannot be read: {error.strerror}") from None


def _find_files(path: Path, table: Table, entity: str | None) -> dict[str, tuple[Path, str]]:
    if not path.exists():
        raise SourceUnreadable(str(path), "no such file or folder")
    known = ", ".join(table.entities)
    if path.is_file():
        name = entity or (path.stem if path.stem in table.entities else None)
        if name is None:
            fact = "the file name is not that of an entity, so the entity of its rows is unknown"
            advice = f"Give --entity; {table.name} has {known}."
            raise SourceUnreadable(str(path), fact, advice)
        return {path.name: (path, name)}
    found = {
        file.name: (file, file.stem)
        for file in sorted(path.glob(f"*{_SUFFIX}"))
        if entity is None or file.stem == entity
    }
    for file, name in found.values():
        if name not in table.entities and name != GUARDS:
            fact = f"{table.name} has no entity {name!r}; it has {known}"
            raise SourceUnreadable(str(file), fact)
    if not found:
        raise SourceUnreadable(str(path), f"the folder has no {_SUFFIX} file")
    return found


def _check_columns(file: Path, schema: EntitySchema | None) -> None:
    columns = next(_read_rows(file), None)
    if columns is None:
        raise SourceUnreadable(str(file), "it is empty; the first line must name the columns")
    known = [OTHER] if schema is None else list_columns(schema)
    unknown = [name for name in columns if name not in known]
    if unknown:
        fact = f"unknown column {', '.join(map(repr, unknown))}"
        raise SourceUnreadable(str(file), fact, f"The columns are {', '.join(known)}.")
    duplicates = sorted({name for name in columns if columns.count(name) > 1})
    if duplicates:
        raise SourceUnreadable(str(file), f"duplicate column {', '.join(duplicates)}")
    if schema is not None:
        missing = [
            name for name, field in schema.fields.items() if field.is_needed and name not in columns
        ]
        if missing:
            fact = f"missing column {', '.join(missing)}"
            raise SourceUnreadable(str(file), fact, "Every item needs a value for it.")


class CsvTarget(FileTarget):
    """A folder with a CSV file for each entity or, if `entity` is given, a single CSV file."""

    # Loading makes the guards, from the declaration that CSV needs anyway.
    keeps_guards = False

    def __init__(self, path: Path, table: Table, entity: str | None) -> None:
        super().__init__(path, "csv")
        table.check()
        self._table, self._entity = table, entity

    def write(self, segment: str, items: Sequence[ClassifiedItem]) -> WriteResult:
        """Write the rows of a batch; items that no row can represent become rejects."""
        rows: dict[str, list[bytes]] = {}
        accepted: list[ClassifiedItem] = []
        rejects: list[Reject] = []
        for each in items:
            try:
                row = _to_row(self._to_cells(each))
            except ItemMismatch as error:
                rejects.append(Reject(str(error), each.item))
            else:
                rows.setdefault(each.entity, []).append(row)
                accepted.append(each)
        lengths: dict[str, int] = {}
        for entity, encoded in rows.items():
            name = f"{part_name(segment)}.{entity}"
            lengths[name] = self.parts.append(name, b"".join(encoded))
        return WriteResult(accepted, rejects, lengths)

    def _to_cells(self, each: ClassifiedItem) -> Sequence[str]:
        schema = self._table.entities.get(each.entity)
        if schema is None:
            return [orjson.dumps(each.item).decode()]
        return list(to_cells(schema, each.item).values())

    def join(self, joined: Path) -> None:
        """Write a header and the parts of each entity."""
        by_entity: dict[str, list[Path]] = {}
        for name in self.parts.names():
            entity = name.partition(".")[2]
            by_entity.setdefault(entity, []).append(self.parts.folder / name)
        if self._entity is not None:
            parts = by_entity.get(self._entity, [])
            join_files(joined, parts, header=self._to_header(self._entity))
            return
        joined.mkdir()
        for entity in dict.fromkeys([*self._table.entities, *by_entity]):
            parts = by_entity.get(entity, [])
            join_files(joined / (entity + _SUFFIX), parts, header=self._to_header(entity))

    def _to_header(self, entity: str) -> bytes:
        schema = self._table.entities.get(entity)
        return _to_row([OTHER] if schema is None else list_columns(schema))

    def read_back(self) -> ItemSource:
        """Return a source that reads the files."""
        return CsvSource(self.parts.path, self._table, self._entity)


def _to_row(cells: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue().encode()


def is_csv(path: Path, entities: Mapping[str, Any]) -> bool:
    """Return whether a path is CSV: a `.csv` file, or a folder with one named after an entity."""
    if path.is_dir():
        return any((path / (entity + _SUFFIX)).is_file() for entity in entities)
    return path.suffix == _SUFFIX
