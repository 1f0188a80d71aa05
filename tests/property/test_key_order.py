"""Text order is value order, and ranges of keys contain what they should."""

from __future__ import annotations

from itertools import pairwise
from threading import Thread
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from keyfold.errors import KeyRangeInvalid
from keyfold.keys import Ulid, UlidSource
from tests.examples import examples
from tests.property.key_strategies import CHARACTERS, KINDS, Plan, plans

EXAMPLES = examples(75)


@pytest.mark.parametrize("name", KINDS)
@EXAMPLES
@given(data=st.data())
def test_the_order_of_texts_is_the_order_of_values(name: str, data: st.DataObject) -> None:
    kind = KINDS[name]
    one, other = data.draw(kind.values), data.draw(kind.values)
    first, second = kind.format.render(one), kind.format.render(other)
    assert (one < other) == (first.encode() < second.encode())
    assert (one == other) == (first == second)


@pytest.mark.parametrize("name", KINDS)
@EXAMPLES
@given(data=st.data())
def test_a_value_comes_back_from_its_text(name: str, data: st.DataObject) -> None:
    kind = KINDS[name]
    value = data.draw(kind.values)
    text = kind.format.render(value)
    assert kind.format.parse(text) == value
    assert kind.format.width in (None, len(text))


@pytest.mark.parametrize("name", KINDS)
@EXAMPLES
@given(data=st.data())
def test_only_renderings_have_a_value(name: str, data: st.DataObject) -> None:
    kind = KINDS[name]
    # Close to a rendering: one character differs.
    text = kind.format.render(data.draw(kind.values))
    place = data.draw(st.integers(0, len(text) - 1))
    text = text[:place] + data.draw(st.sampled_from(CHARACTERS)) + text[place + 1 :]
    value = kind.format.parse(text)
    assert value is None or kind.format.render(value) == text


def draw_range(plan: Plan, data: st.DataObject, name: str) -> tuple[Any, Any]:
    low, high = sorted([plan.draw_value(data, name), plan.draw_value(data, name)])
    return (
        data.draw(st.sampled_from([low, None])),
        data.draw(st.sampled_from([high, None])),
    )


@examples(200)
@given(plan=plans(min_parts=1), data=st.data())
def test_a_span_has_exactly_the_keys_of_its_range(plan: Plan, data: st.DataObject) -> None:
    template = plan.template
    place = data.draw(st.integers(0, len(template.fields) - 1))
    name, known_names = template.fields[place], template.fields[:place]
    known = {each: plan.draw_value(data, each) for each in known_names}
    low, high = draw_range(plan, data, name)
    try:
        span = template.span(known, low, high)
    except KeyRangeInvalid:
        part = template.parts[place]
        assert part.is_followed
        assert part.format.width is None
        return

    # Most keys share the known values, and many lie at an end of the range.
    base = {**known, name: data.draw(st.sampled_from([low, high]))}
    base = {each: value for each, value in base.items() if value is not None}
    for values in plan.draw_several(data, data.draw(st.sampled_from([base, known, {}]))):
        key = template.render(values).encode()
        is_meant = (
            all(values[each] == known[each] for each in known_names)
            and (low is None or low <= values[name])
            and (high is None or values[name] <= high)
        )
        is_within = (span.low is None or span.low.encode() <= key) and (
            span.high is None or key <= span.high.encode()
        )
        assert is_within == is_meant


@examples(200)
@given(plan=plans(min_parts=1), data=st.data())
def test_a_prefix_has_exactly_the_keys_with_its_values(plan: Plan, data: st.DataObject) -> None:
    template = plan.template
    count = data.draw(st.integers(0, len(template.fields)))
    known = {name: plan.draw_value(data, name) for name in template.fields[:count]}
    prefix = template.prefix(known)
    assert prefix.used == tuple(known)
    assert prefix.is_whole == (count == len(template.fields))

    for values in plan.draw_several(data, data.draw(st.sampled_from([known, {}]))):
        key = template.render(values)
        is_meant = all(values[name] == known[name] for name in known)
        assert (key == prefix.text if prefix.is_whole else key.startswith(prefix.text)) == is_meant


@examples(200)
@given(plan=plans(min_parts=1), data=st.data())
def test_a_partial_prefix_has_exactly_the_keys_whose_part_begins_with_it(
    plan: Plan, data: st.DataObject
) -> None:
    template = plan.template
    place = data.draw(st.integers(0, len(template.fields) - 1))
    part, known_names = template.parts[place], template.fields[:place]
    known = {name: plan.draw_value(data, name) for name in known_names}
    whole = part.format.render(plan.draw_value(data, part.name))
    beginning = whole[: data.draw(st.integers(0, len(whole)))]
    prefix = template.starting_with(known, beginning)

    for values in plan.draw_several(data, data.draw(st.sampled_from([known, {}]))):
        is_meant = all(values[name] == known[name] for name in known_names) and (
            part.format.render(values[part.name]).startswith(beginning)
        )
        assert template.render(values).startswith(prefix) == is_meant


JUMPS = st.lists(st.integers(-5_000, 5_000) | st.just(0), min_size=1, max_size=30)


@EXAMPLES
@given(jumps=JUMPS, tails=st.lists(st.binary(min_size=10, max_size=10) | st.just(b"\xff" * 10)))
def test_ids_are_in_order_whatever_the_clock_does(jumps: list[int], tails: list[bytes]) -> None:
    now = 1_750_000_000_000
    waiting = list(tails)

    def read_randomness(count: int) -> bytes:
        return waiting.pop() if waiting else b"\x00" * count

    source = UlidSource(clock=lambda: now / 1000, randomness=read_randomness)
    made: list[Ulid] = []
    latest = 0
    for jump in jumps:
        now += jump
        latest = max(latest, now)
        made.append(Ulid.new(source=source))
        assert made[-1].milliseconds >= now
        # Ahead of the clock only by the milliseconds that were used up.
        assert made[-1].milliseconds - latest <= len(made)
    assert all(earlier < later for earlier, later in pairwise(made))


@examples(20)
@given(jumps=JUMPS)
def test_threads_share_one_order_while_the_clock_jumps(jumps: list[int]) -> None:
    moments = [1_750_000_000 + sum(jumps[:place]) / 1000 for place in range(len(jumps))]
    reads = 0

    def read_clock() -> float:
        # Called by one thread at a time, so the count is exact.
        nonlocal reads
        reads += 1
        return moments[reads % len(moments)]

    source = UlidSource(clock=read_clock)
    made: list[list[Ulid]] = [[], [], []]

    def work(own: list[Ulid]) -> None:
        own.extend(Ulid.new(source=source) for _ in range(100))

    threads = [Thread(target=work, args=(own,)) for own in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(own == sorted(own) for own in made)
    assert len({each for own in made for each in own}) == reads == 300


@EXAMPLES
@given(data=st.data())
def test_a_range_of_time_has_the_ids_of_that_time(data: st.DataObject) -> None:
    moments = KINDS["datetime"].values.filter(lambda moment: moment.timestamp() >= 0)
    since, until = sorted([data.draw(moments), data.draw(moments)])
    low, high = Ulid.range(since=since, until=until)
    made = data.draw(KINDS["ulid"].values)
    assume(made.milliseconds < 2**47)
    first, last = Ulid.at(since).milliseconds, Ulid.at(until).milliseconds
    assert (low <= made <= high) == (first <= made.milliseconds <= last)
