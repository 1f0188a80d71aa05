"""What an exported policy does not say just as the role does."""

from __future__ import annotations

from typing import Literal, NamedTuple

Direction = Literal["narrower", "wider", "same"]


class Gap(NamedTuple):
    """One difference between a role and the policy that was made of it, or a thing to know.

    `direction` says what the policy is than the role: narrower where it denies what the role
    allows, wider where it allows what the role denies, the same where nothing differs. `actions`
    are those that it is about; for an index, only calls on `index_name` are meant.
    """

    kind: str
    direction: Direction
    actions: frozenset[str]
    subject: str
    fact: str
    advice: str
    index_name: str | None = None

    def __str__(self) -> str:
        advice = f" {self.advice}" if self.advice else ""
        return f"{self.subject}: {self.fact}.{advice} [{self.kind}, {self.direction}]"
