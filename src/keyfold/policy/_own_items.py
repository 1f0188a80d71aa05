"""Tells the items of tenants that share a partition apart, by their sort keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from keyfold.keys import KeyTemplate
from keyfold.policy._access import Access
from keyfold.policy._layouts import Area


@dataclass(frozen=True, slots=True)
class OwnItems:
    """Tells whether the items of an access belong to a tenant, in an area of several tenants.

    `matches` has a pattern for each template of the sort key, with the tenant as a group. A range
    of sort keys is a tenant's if all of them start with one of the `prefixes`, which are given by
    the texts before and after the tenant.
    """

    matches: tuple[Callable[[str], re.Match[str] | None], ...]
    prefixes: tuple[tuple[str, str], ...]

    def has(self, access: Access, tenant: str) -> bool:
        """Return whether an access is limited to items of a tenant, whatever is stored."""
        if access.index_name is not None:
            # The sort key of an index is another attribute.
            return False
        if access.sort_key is None:
            text = access.sort_prefix
            return any(text.startswith(before + tenant + after) for before, after in self.prefixes)
        text = access.sort_key.get("S", "")
        found = [each for match in self.matches if (each := match(text)) is not None]
        return bool(found) and all(each["tenant"] == tenant for each in found)


def find_own_items(
    area: Area,
    tenant: str | None,
    match_of: Callable[[KeyTemplate, str | None], Callable[[str], re.Match[str] | None]],
) -> OwnItems | None:
    """Return how the items of an area are told apart by tenant; None if its partitions are.

    `match_of` compiles a template to a pattern with the tenant as a group.
    """
    if tenant is None or not area.is_shared_by(tenant):
        return None
    matches = tuple(match_of(template, tenant) for template in area.sort_templates)
    return OwnItems(matches, tuple(_find_prefixes(area.sort_templates, tenant)))


def _find_prefixes(templates: Sequence[KeyTemplate], tenant: str) -> list[tuple[str, str]]:
    """Return the texts before and after the tenant, for templates that begin with it.

    No key of another tenant has such a prefix, whatever its template. Each template has the tenant
    somewhere.
    """
    starts = [_find_start(template, tenant) for template in templates]
    return [
        start
        for start in dict.fromkeys(starts)
        if start is not None
        and all(
            _is_alike(start, other) or _differs(start[0], template.parts[0].before)
            for template, other in zip(templates, starts, strict=True)
        )
    ]


def _find_start(template: KeyTemplate, tenant: str) -> tuple[str, str] | None:
    """Return the texts before and after the tenant; None if a template does not begin with it."""
    if len(template.parts) < 2 or template.parts[0].name != tenant:  # noqa: PLR2004 - and something after it
        return None
    # An id cannot contain the delimiter after it, so it is the whole id that a prefix has.
    after = template.parts[1].before
    return (template.parts[0].before, after) if after else None


def _is_alike(one: tuple[str, str], other: tuple[str, str] | None) -> bool:
    """Return whether a key that begins as both has the same tenant in both."""
    if other is None or one[0] != other[0]:
        return False
    # Whichever is longer, the tenant ends where it begins.
    return one[1].startswith(other[1]) or other[1].startswith(one[1])


def _differs(one: str, other: str) -> bool:
    """Return whether no text begins with both."""
    return not one.startswith(other) and not other.startswith(one)
