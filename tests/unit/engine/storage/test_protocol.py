"""What every storage does, whatever it keeps its rows in.

The tests of conditional puts and of snapshots run on every storage, too.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from keyfold.engine.storage import (
    RowsChanged,
    RowSet,
    Span,
    Storage,
    StorageReader,
    StorageWriter,
    StoredRow,
)
from keyfold.errors import EngineClosed
from keyfold.values import hash_row_key
from tests.unit.engine.clocks import Clock

ROWS = RowSet(1, 1, ("i0", "i1"))
EVERYTHING = Span(b"\0", b"\xff")
LOG = 2


class Stop(Exception):
    """Raised by a test in the middle of a transaction."""


def fill(storage: Storage, *names: bytes) -> None:
    """Create rows whose value is their key; those with a digit are in `i0`, by that digit."""

    def work(writer: StorageWriter) -> None:
        writer.create_rows(ROWS)
        for name in names:
            digit = name[-1:] if name[-1:].isdigit() else None
            writer.put(ROWS, name, name, len(name), (digit, None))

    storage.write(work)


def values_of(reader: StorageReader | Storage, span: Span, limit: int = -1) -> list[bytes]:
    return list(reader.read_span(ROWS, span, limit=limit, max_bytes=1 << 20)[0])


def names_in(storage: Storage) -> list[bytes]:
    return values_of(storage, EVERYTHING)


def test_rows_are_read_in_the_order_of_their_keys(storage: Storage) -> None:
    fill(storage, b"c", b"a", b"\x80", b"b")
    assert names_in(storage) == [b"a", b"b", b"c", b"\x80"]
    assert values_of(storage, Span(b"b", b"\x80")) == [b"b", b"c"]
    assert values_of(storage, Span(b"a", b"c", reverse=True)) == [b"b", b"a"]
    assert values_of(storage, Span(b"a", b"z", reverse=True), limit=2) == [b"c", b"b"]
    assert storage.read_span(ROWS, Span(b"x", b"y"), limit=-1, max_bytes=1) == ((), ())


def test_a_page_ends_with_the_row_that_reaches_its_size(storage: Storage) -> None:
    names = [b"%03d" % number for number in range(100)]
    fill(storage, *names)
    for max_bytes, count in ((1, 1), (3, 1), (4, 2), (150, 50), (301, 100)):
        page = storage.read_span(ROWS, EVERYTHING, limit=-1, max_bytes=max_bytes)
        assert page == (tuple(names[:count]), (3,) * count)


def test_the_values_of_a_short_page_are_those_of_its_rows(storage: Storage) -> None:
    fill(storage, b"a1", b"b1", b"c2")
    for span in (EVERYTHING, Span(b"1", b"2", column="i0", reverse=True)):
        values = storage.read_values(ROWS, span, limit=2, max_bytes=1 << 20)
        assert values is None or values == values_of(storage, span, limit=2)
    assert storage.read_values(ROWS, EVERYTHING, limit=-1, max_bytes=2) is None


def test_an_index_column_has_an_order_and_is_resumed_after_an_entry(storage: Storage) -> None:
    fill(storage, b"d1", b"c2", b"b1", b"a", b"e2")
    index = Span(b"0", b"9", column="i0")
    assert values_of(storage, index) == [b"b1", b"d1", b"c2", b"e2"]
    assert values_of(storage, index._replace(after=(b"1", b"b1"))) == [b"d1", b"c2", b"e2"]
    back = index._replace(reverse=True, after=(b"2", b"c2"))
    assert values_of(storage, back) == [b"d1", b"b1"]
    assert storage.put(ROWS, b"d1", b"d1", 2, (b"1", None)) is True
    assert storage.put(ROWS, b"d1", b"new", 3, (b"3", b"x")) is True
    assert values_of(storage, index) == [b"b1", b"c2", b"e2", b"new"]
    storage.write(lambda writer: writer.delete(ROWS, b"d1"))
    assert values_of(storage, index) == [b"b1", b"c2", b"e2"]
    assert values_of(storage, Span(b"", b"z", column="i1")) == []


def test_equal_index_keys_are_in_the_order_of_the_hash_of_the_row_key(storage: Storage) -> None:
    names = [b"prefix%d1" % number for number in range(10, 30)]
    fill(storage, *names)
    ordered = sorted(names, key=hash_row_key)
    index = Span(b"1", b"2", column="i0")
    assert values_of(storage, index) == ordered
    assert values_of(storage, index._replace(reverse=True)) == ordered[::-1]
    for place, name in enumerate(ordered):
        after = index._replace(after=(b"1", name))
        assert values_of(storage, after) == ordered[place + 1 :]
        assert values_of(storage, after._replace(reverse=True)) == ordered[:place][::-1]


def test_rows_are_counted_as_a_whole_and_in_part(storage: Storage) -> None:
    fill(storage, b"a", b"b1", b"cc2")
    assert storage.read(lambda reader: reader.count_rows(ROWS)) == (3, 6, ((2, 5), (0, 0)))
    assert storage.read(lambda reader: reader.sum_sizes(ROWS, b"b", b"d")) == 5
    storage.put(ROWS, b"b1", b"value", 7, (None, b"x"))
    assert storage.read(lambda reader: reader.count_rows(ROWS)) == (3, 11, ((1, 3), (1, 7)))
    assert storage.read(lambda reader: reader.read_entries(ROWS, b"b", limit=1)) == [
        StoredRow(b"b1", (b"value", 7), hash_row_key(b"b1"), (None, b"x"))
    ]


def test_rows_without_index_columns_are_read_with_all_their_fields(storage: Storage) -> None:
    rows = RowSet(5, 1, ())
    storage.write(lambda writer: writer.create_rows(rows))
    assert storage.put(rows, b"k", b"value", 7, ()) is True
    assert storage.read(lambda reader: reader.read_entries(rows, b"", limit=9)) == [
        StoredRow(b"k", (b"value", 7))
    ]
    assert storage.read(lambda reader: reader.count_rows(rows)) == (1, 7, ())


@pytest.mark.parametrize("is_long", [False, True])
def test_a_short_page_of_values_is_that_of_a_span_or_left_to_it(
    storage: Storage, is_long: bool
) -> None:
    """After rows that are long together, they are read one by one."""
    fill(storage, *(b"%02d" % number for number in range(40)))
    if is_long:
        for name in (b"y", b"z"):
            storage.put(ROWS, name, bytes(1 << 20), 1 << 20, (None, None))
        assert storage.read_values(ROWS, Span(b"y", b"~"), limit=9, max_bytes=9) is None

    def read(low: bytes, high: bytes, limit: int, max_bytes: int = 1 << 20) -> int | None:
        span = Span(low, high)
        values = storage.read_values(ROWS, span, limit=limit, max_bytes=max_bytes)
        if values is not None:
            assert values == values_of(storage, span, limit)
        return None if values is None else len(values)

    # Complete if the limit is reached, or if there are fewer rows than are read at once: 32.
    assert [read(b"0", b":", limit) for limit in (0, 1, 31, 32)] == [0, 1, 31, 32]
    assert [read(b"0", b":", limit) for limit in (33, 40, 41, -1)] == [None] * 4
    assert [read(b"00", b"%02d" % high, -1) for high in (0, 1, 31, 32, 33)] == [
        0,
        1,
        31,
        None,
        None,
    ]
    # Each value has two bytes. Reaching the maximum ends a page, so that is left to read_span.
    assert [read(b"0", b":", 3, most) for most in (5, 6, 7)] == [None, None, 3]
    resumed = Span(b"0", b":", column="i0", after=(b"5", b"05"))
    assert storage.read_values(ROWS, resumed, limit=2, max_bytes=99) == [b"15", b"25"]


def test_a_transaction_that_raises_changes_nothing(storage: Storage) -> None:
    fill(storage, b"a")

    def work(writer: StorageWriter) -> None:
        writer.put(ROWS, b"b", b"b", 1, (None, None))
        writer.delete(ROWS, b"a")
        writer.set_record("kind", "name", b"body")
        assert values_of(writer, EVERYTHING) == [b"b"]
        raise Stop

    with pytest.raises(Stop):
        storage.write(work)
    assert names_in(storage) == [b"a"]
    assert storage.read(lambda reader: reader.get_record("kind", "name")) is None


def test_writes_that_share_a_commit_take_effect_together(storage: Storage) -> None:
    fill(storage, b"a")
    with storage.shared_commit():
        storage.put(ROWS, b"b", b"b", 1, (None, None))
        storage.write(lambda writer: writer.delete(ROWS, b"a"))
    assert names_in(storage) == [b"b"]


def test_reads_that_share_a_view_see_the_writes_before_it_and_their_own(storage: Storage) -> None:
    fill(storage, b"a")
    storage.hold_view()
    assert storage.get(ROWS, b"a") == (b"a", 1)
    storage.put(ROWS, b"b", b"b", 1, (None, None))
    assert names_in(storage) == [b"a", b"b"]
    storage.release_view()
    with storage.without_waiting():
        storage.put(ROWS, b"c", b"c", 1, (None, None))
    assert storage.get(ROWS, b"c") == (b"c", 1)


def test_records_are_listed_by_name(storage: Storage) -> None:
    def work(writer: StorageWriter) -> None:
        assert not writer.has_rows()
        for name in ("c", "a", "b"):
            writer.set_record("kind", name, name.encode())
        writer.set_record("other", "a", b"x")
        writer.set_record("kind", "a", b"changed")

    storage.write(work)
    listed = [("a", b"changed"), ("b", b"b"), ("c", b"c")]
    assert storage.read(lambda reader: reader.list_records("kind")) == listed
    assert storage.read(lambda reader: reader.list_records("kind", below="c")) == listed[:2]
    assert storage.read(lambda reader: reader.list_records("kind", limit=1)) == listed[:1]
    assert storage.read(lambda reader: reader.get_record("kind", "b")) == b"b"
    assert storage.read(lambda reader: reader.get_record("other", "b")) is None
    storage.write(lambda writer: writer.set_record("kind", "a", None))
    assert storage.read(lambda reader: reader.get_record("kind", "a")) is None


def test_columns_are_added_empty_and_removed_with_their_entries(storage: Storage) -> None:
    fill(storage, b"a1", b"b2")
    changed = RowSet(1, 2, ("i1", "i2"))
    storage.write(lambda writer: writer.change_columns(ROWS, changed))
    entries = storage.read(lambda reader: reader.read_entries(changed, b"", limit=9))
    assert [each.entries for each in entries] == [(None, None)] * 2
    storage.put(changed, b"a1", b"a1", 2, (b"y", b"x"))
    for column in ("i1", "i2"):
        page = storage.read_span(changed, Span(b"", b"z", column=column), limit=-1, max_bytes=99)
        assert page == ((b"a1",), (2,))
    assert storage.read(lambda reader: reader.has_rows())
    storage.write(lambda writer: writer.drop_rows(changed))
    assert not storage.read(lambda reader: reader.has_rows())


def test_every_use_of_an_old_version_is_refused(storage: Storage) -> None:
    old, new = RowSet(1, 1, ("i1",)), RowSet(1, 2, ("i1", "i2"))
    row = (b"k", b"{}", 2, (None,))
    storage.write(lambda writer: writer.create_rows(old))
    storage.put(old, *row)
    storage.write(lambda writer: writer.change_columns(old, new))
    uses: list[Callable[[StorageReader], object]] = [
        lambda reader: reader.get(old, b"k"),
        lambda reader: reader.read_span(old, Span(b"", b"z"), limit=-1, max_bytes=100),
        lambda reader: reader.read_span(old, Span(b"", b"z", column="i1"), limit=-1, max_bytes=100),
        lambda reader: reader.count_rows(old),
        lambda reader: reader.sum_sizes(old, b"", b"z"),
        lambda reader: reader.read_entries(old, b"", limit=1),
    ]
    for use in uses:
        with pytest.raises(RowsChanged):
            storage.read(use)
    changes: list[Callable[[StorageWriter], object]] = [
        lambda writer: writer.put(old, *row),
        lambda writer: writer.delete(old, b"k"),
        lambda writer: writer.drop_rows(old),
    ]
    for change in changes:
        with pytest.raises(RowsChanged):
            storage.write(change)
    with pytest.raises(RowsChanged):
        storage.put(old, *row)
    with pytest.raises(RowsChanged):
        storage.get(old, b"k")
    with pytest.raises(RowsChanged):
        storage.read_span(old, EVERYTHING, limit=1, max_bytes=1)
    with pytest.raises(RowsChanged):
        storage.read_values(old, EVERYTHING, limit=1, max_bytes=1)
    assert storage.get(new, b"k") is not None


def test_a_log_numbers_its_changes_and_gives_each_transaction_one_time(storage: Storage) -> None:
    clock = Clock()
    storage.use_clock(clock)
    storage.write(lambda writer: writer.create_log(LOG, after=10))
    assert storage.read(lambda reader: reader.log_span(LOG)) == (10, 10)
    begin = clock.now

    def append(*keys: bytes, old: bytes | None = None, new: bytes | None = b"new") -> None:
        def work(writer: StorageWriter) -> None:
            for key in keys:
                writer.append_change(LOG, key, old, new, is_expiry=new is None)
                clock.now += 1

        storage.write(work)

    append(b"a", b"b")
    clock.now -= 100
    append(b"a", old=b"new", new=None)
    changes = storage.read(
        lambda reader: reader.read_changes(LOG, after=10, limit=9, max_bytes=1 << 20)
    )
    assert [tuple(each) for each in changes] == [
        (11, begin, b"a", None, b"new", False),
        (12, begin, b"b", None, b"new", False),
        (13, begin, b"a", b"new", None, True),
    ], "times never go back"
    assert storage.read(lambda reader: reader.log_span(LOG)) == (10, 13)


def test_changes_are_selected_by_number_time_key_and_size(storage: Storage) -> None:
    clock = Clock()
    storage.use_clock(clock)
    storage.write(lambda writer: writer.create_log(LOG, after=0))
    for key in (b"a", b"b", b"a", b"c"):
        clock.now += 10
        storage.write(
            lambda writer, key=key: writer.append_change(LOG, key, None, b"new", is_expiry=False)
        )

    def work(reader: StorageReader) -> None:
        def numbers(max_bytes: int = 99, limit: int = 9, **bounds: int | bytes) -> list[int]:
            after = int(bounds.pop("after", 0))
            found = reader.read_changes(
                LOG,
                after=after,
                limit=limit,
                max_bytes=max_bytes,
                **bounds,  # pyright: ignore[reportArgumentType] - each bound has its type
            )
            return [each.sequence for each in found]

        assert numbers() == [1, 2, 3, 4]
        assert numbers(after=1, until=3) == [2, 3]
        assert numbers(low=b"a", high=b"b") == [1, 3]
        assert numbers(limit=2) == [1, 2]
        assert [numbers(max_bytes=most) for most in (1, 3, 4, 6)] == [[1], [1], [1, 2], [1, 2]]
        assert reader.count_changes(LOG, after=0, until=3, low=b"a", high=b"b") == 2
        at = clock.now - 20
        found = [reader.find_change(LOG, time) for time in (at - 99, at - 1, at, at + 1, at + 99)]
        assert found == [0, 1, 2, 2, 4]

    storage.read(work)


def test_trimming_a_log_leaves_its_newest_change(storage: Storage) -> None:
    def work(writer: StorageWriter) -> None:
        writer.create_log(LOG, after=0)
        for key in (b"a", b"b", b"c"):
            writer.append_change(LOG, key, None, b"new", is_expiry=False)
        writer.trim_changes(LOG, until=1, limit=9)
        assert writer.log_span(LOG) == (1, 3)
        assert writer.trim_changes(LOG, until=9, limit=9) == 1

    storage.write(work)
    assert storage.read(lambda reader: reader.log_span(LOG)) == (2, 3)
    storage.write(lambda writer: writer.append_change(LOG, b"d", None, b"x", is_expiry=False))
    assert storage.read(lambda reader: reader.log_span(LOG)) == (2, 4)
    storage.write(lambda writer: writer.drop_log(LOG))


def test_a_closed_storage_refuses_work_and_is_closed_again(storage: Storage) -> None:
    storage.close()
    storage.close()
    with pytest.raises(EngineClosed):
        storage.get(ROWS, b"a")
    with pytest.raises(EngineClosed):
        storage.write(lambda writer: writer.create_rows(ROWS))
