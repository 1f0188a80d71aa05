"""Actions: what the browser can ask for, each a function of one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from keyfold.model import Table
from keyfold.store import Store
from keyfold.store._call_records import CallRecord
from keyfold.store._sent_calls import CallLog
from keyfold.studio._bodies import StudioBody
from keyfold.studio._problems import StudioProblem
from keyfold.studio._recording import CallRecorder, MadeCall
from keyfold.studio._workspace import StudioPrincipal, StudioTable, Workspace


@dataclass(frozen=True, slots=True)
class StudioCall:
    """A request of the browser: the table it is about, who it acts as, and its body.

    `store` runs requests with the rights of the principal, and `recorder` has what it did; both are of
    this call alone.
    """

    workspace: Workspace
    subject: StudioTable
    principal: StudioPrincipal | None
    store: Store
    recorder: CallRecorder
    body: StudioBody

    @property
    def table(self) -> Table:
        """The table's declaration."""
        return self.subject.table

    @property
    def now(self) -> float:
        """The time, in seconds since 1970."""
        return self.workspace.clock()


@dataclass(frozen=True, slots=True)
class Action:
    """Something that the browser can ask for, with a JSON object as the answer."""

    name: str
    run: Callable[[StudioCall], Any]
    writes: bool = False


@dataclass(frozen=True, slots=True)
class StreamAction:
    """Something that the browser can watch: `open` yields events, and None while there are none."""

    name: str
    open: Callable[[StudioCall], Iterator[Mapping[str, Any] | None]]


def make_call(workspace: Workspace, body: StudioBody) -> StudioCall:
    """Return the call of a request; raises StudioProblem and PrincipalInvalid."""
    subject = workspace.find(body.text("table"))
    principal = read_principal(body.optional_mapping("as"))
    recorder = CallRecorder(workspace.executor)
    store = workspace.open_store(subject, principal, recorder)
    return StudioCall(workspace, subject, principal, store, recorder, body)


def read_principal(given: Mapping[str, Any] | None) -> StudioPrincipal | None:
    """Return the principal of a request, `{"roles": ["customer"], "ids": {"user": "ada"}}`."""
    if not given:
        return None
    body = StudioBody(dict(given))
    roles, ids = body.texts("roles"), body.mapping("ids")
    if not roles or not all(isinstance(each, str) for each in ids.values()):
        message = "as has to be an object with roles, and ids that are texts."
        raise StudioProblem(400, "request-malformed", message)
    return StudioPrincipal(tuple(roles), {name: str(value) for name, value in ids.items()})


def show_calls(table: Table, calls: list[MadeCall]) -> list[dict[str, Any]]:
    """Return the calls that were made, for the browser."""
    return [_show_call(table, each) for each in calls]


def describe_call(table: Table, operation: str, request: Mapping[str, Any]) -> str:
    """Return the key condition, the key or the members of a call, in words; empty if it has none."""
    log = CallLog([table])
    log(CallRecord(operation, (table.name,), 0.0, 0.0, 1, None, request))
    sent = log.take()
    return sent[0].key if sent else ""


def _show_call(table: Table, made: MadeCall) -> dict[str, Any]:
    key = describe_call(table, made.operation, made.request)
    return {
        "operation": made.operation,
        "index": made.index,
        "key": key or str(made.request.get("Statement", "")),
        "read": made.is_read,
        "units": made.units,
        "milliseconds": round(made.milliseconds, 3),
        "scanned": made.scanned,
        "returned": made.returned,
        "error": made.error,
    }
