"""Typed ids: how they are read, made, ordered and turned into ranges."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from keyfold.errors import IdInvalid
from keyfold.keys import Ulid, UlidSource


class OrderId(Ulid, prefix="O"): ...


class RewardId(Ulid, prefix="R"): ...


LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
BODY = "01JZ10H7X367VB2NF4YQ973DHX"
TEXT = f"O#{BODY}"
GREATEST = "7" + "Z" * 25


def decode(body: str) -> int:
    """Return the number of an id, decoded as its definition says."""
    number = 0
    for letter in body:
        number = number * 32 + LETTERS.index(letter)
    return number


def standing_at(*moments: float) -> UlidSource:
    """Return a source whose clock shows these times, one after the other."""
    waiting = list(moments)
    return UlidSource(clock=lambda: waiting.pop(0), randomness=lambda count: b"\x01" * count)


def test_an_id_is_its_text() -> None:
    order = OrderId(TEXT)
    assert order == TEXT
    assert hash(order) == hash(TEXT)
    assert {order: 1}[OrderId(TEXT)] == 1
    assert f"{order}" == str(order) == TEXT
    assert type(str(order)) is str
    assert repr(order) == f"OrderId('{TEXT}')"
    assert json.dumps(order) == f'"{TEXT}"'


def test_a_type_without_a_prefix_has_the_26_characters_alone() -> None:
    assert Ulid(BODY) == BODY
    assert len(Ulid.new()) == 26


def test_a_subclass_keeps_its_prefix_unless_it_has_its_own() -> None:
    class GiftOrderId(OrderId): ...

    class ReturnId(OrderId, prefix="RET"): ...

    assert GiftOrderId(TEXT).prefix == "O"
    assert type(GiftOrderId(OrderId(TEXT))) is GiftOrderId
    assert ReturnId.new().startswith("RET#")
    assert OrderId.prefix == "O"


@pytest.mark.parametrize("prefix", ["", "O#", "a b", "é", "x" * 41])
def test_an_invalid_prefix_is_refused(prefix: str) -> None:
    with pytest.raises(IdInvalid, match=r"^Odd: the prefix of an id must be .*\[id-invalid\]$"):
        type("Odd", (Ulid,), {}, prefix=prefix)


def test_an_id_may_have_another_separator() -> None:
    class InvoiceId(Ulid, prefix="inv", separator="_"): ...

    class BareId(Ulid, prefix="x", separator=""): ...

    made = InvoiceId(f"inv_{BODY.lower()}")
    assert made == f"inv_{BODY}"
    assert made.time == OrderId(TEXT).time
    assert InvoiceId.new().startswith("inv_")
    assert BareId(f"x{BODY}").milliseconds == made.milliseconds
    with pytest.raises(IdInvalid, match="an id must begin with 'inv_'"):
        InvoiceId(f"inv#{BODY}")


def test_a_base_class_can_set_the_separator_of_all_ids() -> None:
    class ShopId(Ulid, separator="-"): ...

    class CartId(ShopId, prefix="cart"): ...

    assert ShopId(BODY) == BODY
    assert CartId.new().startswith("cart-")
    with pytest.raises(IdInvalid, match="Leave out the '-'; it is added automatically"):
        type("Odd", (ShopId,), {}, prefix="a b")


@pytest.mark.parametrize("separator", [" ", "a b", "\n", "\ud800", "_" * 11])
def test_an_invalid_separator_is_refused(separator: str) -> None:
    with pytest.raises(IdInvalid, match=r"^Odd: the separator of an id must be .*\[id-invalid\]$"):
        type("Odd", (Ulid,), {}, prefix="x", separator=separator)


def test_lowercase_letters_are_accepted() -> None:
    assert OrderId(f"O#{BODY.lower()}") == TEXT


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        (f"R#{BODY}", "an id must begin with 'O#'"),
        (f"o#{BODY}", "an id must begin with 'O#'"),
        (BODY, "an id must begin with 'O#'"),
        ("", "an id must begin with 'O#'"),
        (TEXT[:-1], "an id must have 26 characters after 'O#', not 25"),
        (f"{TEXT}0", "an id must have 26 characters after 'O#', not 27"),
        (f"{TEXT}\n", "an id must have 26 characters after 'O#', not 27"),
        (f"{TEXT[:-1]}I", "an id must not contain 'I'"),
        (f"{TEXT[:-1]}l", "an id must not contain 'l'"),
        (f"{TEXT[:-1]}O", "an id must not contain 'O'"),
        (f"{TEXT[:-1]}u", "an id must not contain 'u'"),
        (f"{TEXT[:-1]}-", "an id must not contain '-'"),
        # Letters whose uppercase or lowercase form is in the alphabet.
        (f"{TEXT[:-1]}\u017f", "an id must not contain '\u017f'"),
        (f"{TEXT[:-1]}\u212a", "an id must not contain '\u212a'"),
        (f"{TEXT[:-1]}\ufb05", "an id must not contain '\ufb05'"),
        (f"{TEXT[:-1]}\u0661", "an id must not contain '\u0661'"),
        (f"O#8{BODY[1:]}", "the first character of an id after 'O#' must be 0 to 7, not '8'"),
        (f"O#z{BODY[1:]}", "the first character of an id after 'O#' must be 0 to 7, not 'z'"),
    ],
)
def test_an_invalid_id_is_refused_with_the_reason(text: str, fact: str) -> None:
    with pytest.raises(IdInvalid) as refused:
        OrderId(text)
    assert str(refused.value).startswith(f"OrderId: {fact}; got {text!r}. ")
    assert str(refused.value).endswith(" [id-invalid]")


@pytest.mark.parametrize("received", [None, 5, b"O#", BODY.encode()])
def test_an_id_that_is_not_text_is_refused(received: Any) -> None:
    with pytest.raises(IdInvalid, match="OrderId: an id must be a str; got "):
        OrderId(received)


def test_a_long_text_is_not_repeated() -> None:
    with pytest.raises(IdInvalid) as refused:
        OrderId("x" * 81)
    assert "x" * 61 not in str(refused.value)
    assert "x" * 61 not in repr(refused.value)
    assert "(81 characters)" in str(refused.value)


def test_an_id_cannot_be_changed() -> None:
    order: Any = OrderId(TEXT)
    with pytest.raises(AttributeError):
        order.note = "x"
    with pytest.raises(AttributeError):
        order.time = datetime.now(UTC)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_id_survives_pickling(protocol: int) -> None:
    order = OrderId(TEXT)
    again = pickle.loads(pickle.dumps(order, protocol))
    assert (again, type(again)) == (order, OrderId)
    assert type(copy.deepcopy(order)) is OrderId


def test_the_time_of_an_id_is_in_its_first_ten_characters() -> None:
    order = OrderId(TEXT)
    assert order.milliseconds == decode(BODY[:10])
    assert order.time == datetime(2025, 6, 30, 18, 10, 34, 531_000, tzinfo=UTC)
    assert order.time.tzinfo is UTC


def test_a_time_past_the_year_9999_is_given_in_milliseconds_only() -> None:
    last = Ulid(GREATEST)
    assert last.milliseconds == 2**48 - 1
    with pytest.raises(IdInvalid, match="after the year 9999"):
        _ = last.time


def test_new_ids_have_the_time_of_the_clock_and_random_bytes() -> None:
    source = UlidSource(clock=lambda: 1.001, randomness=lambda count: bytes(range(count)))
    number = decode(Ulid.new(source=source))
    assert number >> 80 == 1001
    assert (number & (2**80 - 1)).to_bytes(10) == bytes(range(10))


def test_within_a_millisecond_the_next_id_is_one_more() -> None:
    source = standing_at(5.0, 5.0, 5.0001)
    made = [decode(Ulid.new(source=source)) for _ in range(3)]
    assert [number - made[0] for number in made] == [0, 1, 2]


def test_a_clock_that_steps_back_does_not_take_the_ids_back() -> None:
    source = standing_at(5000.0, 1000.0, 1000.5, 5000.0, 5000.001)
    made = [OrderId.new(source=source) for _ in range(5)]
    assert made == sorted(set(made))
    assert [order.milliseconds for order in made] == [5_000_000] * 4 + [5_000_001]


def test_a_millisecond_that_is_used_up_gives_way_to_the_next() -> None:
    tails = [b"\xff" * 10, b"\x00" * 10]
    source = UlidSource(clock=lambda: 1.0, randomness=lambda _: tails.pop(0))
    made = [Ulid.new(source=source) for _ in range(3)]
    assert made == sorted(set(made))
    assert [each.milliseconds for each in made] == [1000, 1001, 1001]


@pytest.mark.parametrize("seconds", [-0.001, 2**48 / 1000])
def test_a_clock_out_of_range_is_refused(seconds: float) -> None:
    with pytest.raises(IdInvalid, match="the clock is outside the years that an id can represent"):
        Ulid.new(source=UlidSource(clock=lambda: seconds))


def test_ids_for_other_times_do_not_affect_new_ids() -> None:
    source = standing_at(5.0, 5.0)
    first = Ulid.new(source=source)
    Ulid.at(datetime(1999, 1, 1, tzinfo=UTC))
    Ulid.range(until=datetime(2099, 1, 1, tzinfo=UTC))
    assert decode(Ulid.new(source=source)) == decode(first) + 1


def test_threads_get_distinct_ids_in_order() -> None:
    def make(_: int) -> list[OrderId]:
        return [OrderId.new() for _ in range(2000)]

    with ThreadPoolExecutor(4) as pool:
        lists = list(pool.map(make, range(4)))
    assert all(made == sorted(made) for made in lists)
    assert len({order for made in lists for order in made}) == 8000


def test_threads_read_the_clock_and_make_their_id_one_after_the_other() -> None:
    def read_clock() -> float:
        assert source._lock.locked()
        return 1.0

    def read_randomness(count: int) -> bytes:
        assert source._lock.locked()
        return bytes(count)

    source = UlidSource(clock=read_clock, randomness=read_randomness)
    assert Ulid.new(source=source) < Ulid.new(source=source)
    assert not source._lock.locked()


def test_ids_made_in_a_row_are_in_order() -> None:
    made = [Ulid.new() for _ in range(5000)]
    assert all(earlier < later for earlier, later in pairwise(made))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without forks")
def test_after_a_fork_parent_and_children_make_different_ids() -> None:
    # In another process, because a fork of this one would lose its other threads. The clock of
    # the first source stands still, and its lock is held during the fork.
    program = """
import os
from keyfold.keys import Ulid, UlidSource
source = UlidSource(clock=lambda: 1.0)
before = [Ulid.new(source=source), Ulid.new()]
source._lock.acquire()
pids = []
for _ in range(2):
    pids.append(os.fork())
    if not pids[-1]:
        break
else:
    source._lock.release()
    for pid in pids:
        os.waitpid(pid, 0)
made = [Ulid.new(source=each) for each in (source, None) for _ in range(2)]
os.write(1, " ".join([*before, *made]).encode() + b"\\n")  # at once, since three write here
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, timeout=60
    )
    processes = [line.split() for line in done.stdout.splitlines()]
    assert len(processes) == 3
    made = [each for line in processes for each in line[2:]]
    assert len(set(made)) == len(made) == 12
    for standing, running, *later in processes:
        assert standing < later[0] < later[1]
        assert running < later[2] < later[3]


def test_at_gives_the_least_id_of_a_millisecond() -> None:
    moment = datetime(2025, 6, 1, 12, 0, 0, 123_999, tzinfo=UTC)
    least = OrderId.at(moment)
    assert decode(least[2:]) == 1_748_779_200_123 << 80
    assert least.time == moment.replace(microsecond=123_000)
    in_another_zone = moment.astimezone(timezone(timedelta(hours=9)))
    assert OrderId.at(in_another_zone) == least


def test_an_id_lies_in_the_range_of_the_time_at_which_it_was_made() -> None:
    for milliseconds in range(1_750_000_000_000, 1_750_000_000_500):
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
        made = Ulid.new(source=UlidSource(clock=moment.timestamp))
        low, high = Ulid.range(since=moment, until=moment)
        assert low <= made <= high


def test_a_range_includes_both_of_its_ends() -> None:
    since, until = datetime(2025, 6, 1, tzinfo=UTC), datetime(2025, 7, 1, tzinfo=UTC)
    low, high = OrderId.range(since=since, until=until)
    assert (type(low), type(high)) == (OrderId, OrderId)
    assert low == OrderId.at(since)
    assert decode(high[2:]) == decode(OrderId.at(until + timedelta(milliseconds=1))[2:]) - 1


def test_an_end_that_is_not_given_is_open() -> None:
    assert OrderId.range() == ("O#" + "0" * 26, f"O#{GREATEST}")


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    since, until = datetime(2025, 6, 2, tzinfo=UTC), datetime(2025, 6, 1, tzinfo=UTC)
    with pytest.raises(IdInvalid, match="a range must begin before it ends; got since 2025-06-02"):
        OrderId.range(since=since, until=until)


def test_a_datetime_without_a_time_zone_is_refused() -> None:
    naive = datetime(2025, 6, 1)  # noqa: DTZ001
    for ask in (lambda: OrderId.at(naive), lambda: OrderId.range(until=naive)):
        with pytest.raises(IdInvalid, match="OrderId: the time of an id must have a time zone"):
            ask()


def test_a_datetime_before_1970_is_refused() -> None:
    with pytest.raises(IdInvalid, match="the time of an id must be 1970 or later"):
        OrderId.at(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))


class Order(BaseModel):
    order: OrderId
    rewards: dict[RewardId, int] = {}
    parent: OrderId | None = None


def test_a_field_of_a_model_takes_an_id_or_its_text() -> None:
    order = OrderId(TEXT)
    given = Order(order=order)
    assert given.order is order
    read = Order.model_validate({"order": TEXT.replace("JZ", "jz"), "rewards": {f"R#{BODY}": 1}})
    assert read.order == order
    assert type(read.order) is OrderId
    assert [type(reward) for reward in read.rewards] == [RewardId]
    assert Order.model_validate_json(read.model_dump_json()) == read


def test_a_model_writes_an_id_as_text() -> None:
    order = Order(order=OrderId(TEXT), rewards={RewardId(f"R#{BODY}"): 1})
    assert json.loads(order.model_dump_json()) == {
        "order": TEXT,
        "rewards": {f"R#{BODY}": 1},
        "parent": None,
    }
    assert type(order.model_dump(mode="json")["order"]) is str
    assert type(order.model_dump()["order"]) is OrderId


@pytest.mark.parametrize("received", [f"R#{BODY}", RewardId(f"R#{BODY}"), "x", 5, None])
def test_a_model_refuses_ids_of_another_type(received: Any) -> None:
    with pytest.raises(ValidationError, match="id-invalid"):
        Order(order=received)


def test_the_schema_of_a_model_says_what_an_id_looks_like() -> None:
    for mode in ("validation", "serialization"):
        schema = TypeAdapter(OrderId).json_schema(mode=mode)
        assert schema["type"] == "string"
    assert TypeAdapter(OrderId).json_schema()["pattern"] == f"^O\\#[0-7][{LETTERS}]{{25}}$"
