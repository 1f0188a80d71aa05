"""A check that a role and its exported policy differ only where a reported gap says so."""

from __future__ import annotations

from keyfold.policy import Access, Layout
from keyfold.policy.iam import Export, Gap

# Gaps that are about the partitions of one area.
OF_AREAS = {
    "batch-writes",
    "create-or-replace",
    "fixed-in-conditions",
    "hidden-in-failures",
    "unique-in-conditions",
}


def find_area(layout: Layout, access: Access) -> str | None:
    """Return the area of an access, found by the templates alone."""
    if access.partition is None:
        return None
    text = access.partition[0].get("S", "")
    for area in layout.areas.values():
        if any(template.parse(text) is not None for template in area.templates):
            return area.name
    return None


def excuses(gap: Gap, layout: Layout, accesses: list[Access], index: int) -> bool:
    """Return whether a gap covers one of the accesses of a call."""
    access = accesses[index]
    if access.action not in gap.actions:
        return False
    if gap.index_name is not None and gap.index_name != access.index_name:
        return False
    area = find_area(layout, access)
    match gap.kind:
        case "mixed-batches":
            return len({find_area(layout, each) for each in accesses}) > 1
        case "index-writes":
            return any(
                name in access.written
                for each in layout.indexes.values()
                for name in each.partition
            )
        case "key-parts" if gap.index_name is None:
            return area == gap.subject if gap.direction == "narrower" else area is None
        case "look-alikes":
            return area is None
        case _ if gap.kind in OF_AREAS:
            # Rights to EVERYTHING cover partitions of no area as well as those of areas.
            return gap.subject in (area, "EVERYTHING", "Other")
        case _:
            return True


def check_gaps(
    export: Export,
    layout: Layout,
    accesses: list[Access],
    is_guarded: list[bool],
    *,
    is_denied: bool,
) -> None:
    """Check that guard and policy agree on a call, or that a gap explains the difference."""
    if is_denied and not any(is_guarded):
        explain(export, layout, accesses, "narrower", range(len(accesses)))
    if not is_denied:
        # A gap must explain each access that the role denies and the policy allows.
        for place, guarded in enumerate(is_guarded):
            if guarded:
                explain(export, layout, accesses, "wider", [place])


def explain(
    export: Export,
    layout: Layout,
    accesses: list[Access],
    direction: str,
    places: range | list[int],
) -> None:
    gaps = [gap for gap in export.gaps if gap.direction == direction]
    assert any(excuses(gap, layout, accesses, place) for gap in gaps for place in places), (
        f"{direction}, and no gap says so: {accesses}\n{export.to_json()}\n"
        + "\n".join(map(str, export.gaps))
    )
