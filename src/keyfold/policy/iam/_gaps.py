"""Gaps: differences between a role and the IAM policy exported from it."""

from __future__ import annotations

from typing import Literal, NamedTuple

Direction = Literal["narrower", "wider", "same"]


class Gap(NamedTuple):
    """One difference between a role and the policy exported from it, or a note about the policy.

    `direction` says whether the policy is wider or narrower than the role: "narrower" where it
    denies what the role allows, "wider" where it allows what the role denies, "same" where they
    agree. `actions` are the IAM actions concerned; with `index_name`, only calls on that index.
    `role` is the role that it is about; empty if it is about several roles together.
    """

    kind: str
    direction: Direction
    actions: frozenset[str]
    subject: str
    fact: str
    advice: str
    index_name: str | None = None
    role: str = ""

    def __str__(self) -> str:
        advice = f" {self.advice}" if self.advice else ""
        return f"{self.subject}: {self.fact}.{advice} [{self.kind}, {self.direction}]"


def system_keys_gap(role: str) -> Gap:
    """Return the note that principals of an end users' role see keys in DynamoDB's API."""
    return Gap(
        "system-keys",
        "same",
        frozenset(),
        f"role {role}",
        "DynamoDB's API takes and returns keys, so end users who call it see system keys",
        "Let them reach the table through a service that shows handles.",
    )
