"""What one query can read of a collection: it has one range of sort keys, and one direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from keyfold.errors import QueryInvalid
from keyfold.model._collection_ranges import Extent, extent_of
from keyfold.model._moments import SAMPLE_TIME
from keyfold.model._ranges import KeyState, without_range


class MemberKeys(NamedTuple):
    """A member of a collection, and the sort keys it has with and without the caller's range."""

    name: str
    entity: str
    is_list: bool
    whole: Extent
    limited: Extent

    @property
    def is_cut_below(self) -> bool:
        """Whether the range leaves out entities with lesser sort keys."""
        return self.limited.low != self.whole.low

    @property
    def is_cut_above(self) -> bool:
        """Whether the range leaves out entities with greater sort keys."""
        return self.limited.high != self.whole.high


def member_keys(
    name: str, entity: str, keys: KeyState, attribute: str, *, is_list: bool
) -> MemberKeys:
    """Return the sort keys of a member whose key condition is `keys`."""
    # Where members lie in relation to each other does not depend on the time.
    whole = extent_of(without_range(keys), attribute, SAMPLE_TIME)
    limited = extent_of(keys, attribute, SAMPLE_TIME)
    return MemberKeys(name, entity, is_list, whole, limited)


def check_ranges(owner: str, members: Sequence[MemberKeys]) -> None:
    """Raise QueryInvalid if a range of the lists would also leave out other members, or gaps."""
    lists = [each for each in members if each.is_list]
    limited = [each for each in lists if each.is_cut_below or each.is_cut_above]
    for each in limited:
        for other in lists:
            if other.whole != each.whole:
                fact = (
                    f"{each.name} and {other.name} have sort keys of different beginnings, so one "
                    "range cannot limit both"
                )
                raise QueryInvalid(owner, fact, "Query one of them alone.")
        for single in members:
            if single.is_list:
                continue
            if each.is_cut_below and not each.whole.is_below(single.whole):
                end, side = "first", "after"
            elif each.is_cut_above and not single.whole.is_below(each.whole):
                end, side = "last", "before"
            else:
                continue
            fact = (
                f"the range leaves out the {end} {each.name}, but one query reads one range, and "
                f"{single.name} does not sort {side} all {each.name}"
            )
            raise QueryInvalid(owner, fact, _advise(single, each, side))


def check_limit(owner: str, members: Sequence[MemberKeys], *, is_reversed: bool) -> None:
    """Raise QueryInvalid if a limit could end the query before all single members are read."""
    lists = [each for each in members if each.is_list]
    if not lists:
        raise QueryInvalid(owner, "limit() limits lists, and it has none", "Leave it out.")
    for single in members:
        if single.is_list:
            continue
        for each in lists:
            before, then = (each, single) if is_reversed else (single, each)
            if before.whole.is_below(then.whole):
                continue
            order, side = ("descending", "after") if is_reversed else ("ascending", "before")
            fact = (
                f"in {order} order, {single.name} is not read before {each.name}, so a limit could "
                "leave it out"
            )
            raise QueryInvalid(owner, fact, _advise(single, each, side))


def check_continued(owner: str, members: Sequence[MemberKeys]) -> None:
    """Raise QueryInvalid if a collection that continues after a cursor has single members."""
    singles = [each.name for each in members if not each.is_list]
    if singles:
        lists = ", ".join(each.entity for each in members if each.is_list)
        fact = f"{singles[0]} is on the first page only"
        raise QueryInvalid(owner, fact, f"Use the cursor with a query of {lists}.")


def _advise(single: MemberKeys, each: MemberKeys, side: str) -> str:
    return (
        f"Give {single.entity} a sort key that sorts {side} those of {each.entity}, or read it "
        "with a get() of its own."
    )
