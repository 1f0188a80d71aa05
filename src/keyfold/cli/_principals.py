"""The principal that a command acts as: `--as customer --id user=ada`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfold.cli._ids import read_ids

if TYPE_CHECKING:
    # Imported when a command runs, so that --help does not load the model.
    from keyfold.model import Pattern, Table
    from keyfold.store import Store

Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        help="Act as a principal with this role of the table; by default, everything is allowed. "
        "Repeatable.",
        metavar="ROLE",
    ),
]
Ids = Annotated[
    list[str] | None,
    typer.Option(
        "--id", help="An id of that principal: the tenant of its role.", metavar="NAME=VALUE"
    ),
]


@dataclass(frozen=True, slots=True)
class Principal:
    """Roles, and the ids of their tenants."""

    roles: tuple[str, *tuple[str, ...]]
    ids: Mapping[str, str]

    def restrict(self, store: Store) -> Store:
        """Return a store that is restricted to the principal; raises PrincipalInvalid."""
        return store.as_principal(*self.roles, **self.ids)


def read_principal(roles: Sequence[str] | None, ids: Sequence[str] | None) -> Principal | None:
    """Return the principal that a command line names; None if it names no role.

    Raises BadParameter.
    """
    if roles:
        first, *others = roles
        return Principal((first, *others), read_ids(ids or ()))
    if ids:
        raise typer.BadParameter("it is for --as. Give --as, too.", param_hint="--id")
    return None


def split_ids(
    table: Table,
    pattern: Pattern[..., Any],
    roles: Sequence[str] | None,
    words: Sequence[str] | None,
) -> tuple[list[str], list[str]]:
    """Return the values of `--id` that are ids of the principal, and those of the pattern.

    A pattern may have a parameter `id`. Then only `NAME=VALUE` with the name of a role's tenant
    is an id of the principal.
    """
    from keyfold.cli._arguments import takes

    given = list(words or ())
    if not takes(pattern, "id"):
        return given, []
    tenants = {table.roles[role].tenant for role in roles or () if role in table.roles}
    own = [word for word in given if "=" in word and word.partition("=")[0] in tenants]
    return own, [word for word in given if word not in own]
