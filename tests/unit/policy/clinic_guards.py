"""Guards of the clinic's roles, and accesses to its table."""

from __future__ import annotations

from typing import Any

from keyfold.policy import READ, Access, Denial, Guard, Right
from tests.unit.policy.clinic import auditor, clinic, keeper, nurse, patient, scribe

LAYOUT = clinic.layout
ADA = Guard(LAYOUT, patient, {"user": "ada"})
SCRIBE = Guard(LAYOUT, scribe, {"user": "ada"})
NURSE = Guard(LAYOUT, nurse, {})
AUDITOR = Guard(LAYOUT, auditor, {})
KEEPER = Guard(LAYOUT, keeper, {})

GET, QUERY, CREATE, UPDATE, DELETE = (
    Right.GET,
    Right.QUERY,
    Right.CREATE,
    Right.UPDATE,
    Right.DELETE,
)


def access(rights: Right, *partition: str, action: str = "GetItem", **facts: Any) -> Access:
    """An access to whole items of one partition."""
    values = tuple({"S": text} for text in partition)
    facts.setdefault("attributes", None if rights in READ else frozenset())
    return Access(action, "Clinic", rights=rights, partition=values or None, **facts)


def query(index: str, *partition: str) -> Access:
    return access(QUERY, *partition, action="Query", index_name=index)


def put(partition: str, **written: Any) -> Access:
    return access(CREATE | UPDATE, partition, action="PutItem", written=written)


def fact_of(denial: Denial | None) -> str | None:
    return None if denial is None else denial.fact
