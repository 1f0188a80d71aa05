"""The room "Changes": the live tail of a table's stream, and the dead letters of its followers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from keyfold.errors import AccessDenied, ResourceNotFoundException
from keyfold.model._changes import VIEW_TYPES
from keyfold.policy import PrincipalGuard, make_guards
from keyfold.store import StoreSettings
from keyfold.store._dead_letters import DeadLetters
from keyfold.store._follow_options import lease_table_name
from keyfold.store._lease_keeper import LeaseCalls
from keyfold.store._leases import DeadLetterHead
from keyfold.store._records import StreamRecord
from keyfold.studio._actions import Action, StreamAction, StudioCall
from keyfold.studio._problems import StudioProblem
from keyfold.studio.rooms._shown_changes import show_change
from keyfold.studio.rooms._stream_tail import StreamTail, TailStart, find_stream, run_plan

_LETTERS = 100
# Where the followers of a lease table are looked for.
_LOOKED_AT = 200
_IMAGES = "new and old"


def show_state(call: StudioCall) -> dict[str, Any]:
    """Return whether the table has a stream, what it records, and who follows the table."""
    workspace, table = call.workspace, call.table
    described = workspace.executor.execute("DescribeTable", {"TableName": table.name})["Table"]
    given: dict[str, Any] = described.get("StreamSpecification", {})
    view = given.get("StreamViewType") if given.get("StreamEnabled") else None
    return {
        "on": view is not None,
        "images": next((name for name, each in VIEW_TYPES.items() if each == view), None),
        "declared": table.stream,
        "canEnable": workspace.kind != "service" and not workspace.read_only,
        "readOnly": workspace.read_only,
        "command": _write_command(call),
        "handlers": [
            {"name": each.name, "entities": [entity.__name__ for entity in each.entities]}
            for each in table.handlers.values()
        ],
        "follow": f"keyfold stream follow {_name_table(call)} --db {workspace.url or 'FILE'}",
    }


def _write_command(call: StudioCall) -> str:
    """Return the command that switches the stream on."""
    url = call.workspace.url or "FILE"
    if call.table.stream is not None:
        return f"keyfold apply {_name_table(call)} --db {url}"
    return (
        f"aws dynamodb update-table --table-name {call.table.name} --stream-specification "
        f"StreamEnabled=true,StreamViewType={VIEW_TYPES[_IMAGES]}"
    )


def _name_table(call: StudioCall) -> str:
    """Return the table as commands take it: a design, or the module that has it."""
    table = call.table
    for name, module in list(sys.modules.items()):
        known = getattr(module, "__dict__", {})
        attribute = next((each for each, value in list(known.items()) if value is table), None)
        if attribute is not None and not name.startswith("keyfold.studio"):
            if name.startswith("keyfold.designs."):
                return name.split(".")[2]
            return f"--table {name}:{attribute}"
    return "--table MODULE:NAME"


def enable_stream(call: StudioCall) -> dict[str, Any]:
    """Switch the stream of an embedded table on."""
    _refuse_principal(call, "UpdateTable")
    if call.workspace.kind == "service":
        message = (
            f"The studio changes tables of embedded databases only. Run: {_write_command(call)}"
        )
        raise StudioProblem(409, "stream-elsewhere", message)
    images = call.table.stream or _IMAGES
    request = {
        "TableName": call.table.name,
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": VIEW_TYPES[images]},
    }
    call.recorder.execute("UpdateTable", request)
    return show_state(call)


def tail_changes(call: StudioCall) -> Iterator[Mapping[str, Any] | None]:
    """Yield the changes of the table as they are made: a principal sees what it could get."""
    executor, table = call.workspace.executor, call.table
    stream = find_stream(executor, table)
    if stream is None or not stream.is_on:
        message = f"The stream of {table.name} is off, so its changes are not recorded."
        raise StudioProblem(409, "stream-off", message)
    guard = _find_guard(call)
    positions = call.body.mapping("positions")
    # Positions of a stream that was switched off and on again say nothing.
    known = {name: str(value) for name, value in positions.items()}
    if call.body.optional_text("stream") not in (None, stream.label):
        known = {}
    # A tail that goes on after a lost connection shows nothing that is older than its beginning.
    resumed = call.body.number("since", least=0, most=1e12, default=0)
    start: TailStart = "oldest" if resumed else _read_start(call)
    since = resumed or (call.now if start == "latest" else 0)
    tail = StreamTail(executor, table, stream.arn, start=start, positions=known, since=since)
    yield {"type": "started", "stream": stream.label, "now": call.now}
    while True:
        found = tail.read()
        if found.is_gap:
            yield {"type": "gap"}
        for shard, record in found.records:
            shown = show_change(table, record, now=call.now, guard=guard)
            if shown is not None:
                yield {"type": "change", "shard": shard, "change": shown}
        if not found.records:
            yield None


def _read_start(call: StudioCall) -> TailStart:
    return "oldest" if call.body.optional_text("from") == "oldest" else "latest"


def _find_guard(call: StudioCall) -> PrincipalGuard | None:
    if call.principal is None:
        return None
    return make_guards([call.table], call.principal.roles, call.principal.ids)[call.table.name]


def list_dead_letters(call: StudioCall) -> dict[str, Any]:
    """Return the changes that handlers failed on, and those waiting behind them, oldest first."""
    _refuse_principal(call, "GetRecords")
    followers = _find_followers(call)
    name = call.body.optional_text("follower") or next(iter(followers or ()), "default")
    letters = _open_letters(call, name)
    heads = [] if followers is None else run_plan(call.recorder, letters.list_heads())
    shown = [_show_letter(call, letters, head) for head in heads[:_LETTERS]]
    return {
        # None if no follower has ever run.
        "followers": followers,
        "follower": name,
        "count": len(heads),
        "letters": [each for each in shown if each is not None],
    }


def _show_letter(
    call: StudioCall, letters: DeadLetters, head: DeadLetterHead
) -> dict[str, Any] | None:
    found = run_plan(call.recorder, letters.fetch(head))
    if found is None:
        # It was handled meanwhile.
        return None
    letter, record = found
    return {
        "sequence": str(letter.sequence),
        "item": letter.item,
        "handler": letter.handler,
        "state": letter.state,
        "attempts": letter.attempts,
        "error": letter.error,
        "added": letter.added_at.isoformat(),
        "change": _show_record(call, record),
    }


def _show_record(call: StudioCall, record: StreamRecord) -> dict[str, Any] | None:
    return show_change(call.table, record, now=call.now)


def retry_dead_letters(call: StudioCall) -> dict[str, Any]:
    """Mark failed dead letters for retry: one, a handler's, or all; a follower then delivers them."""
    _refuse_principal(call, "GetRecords")
    body = call.body
    name = body.optional_text("follower") or "default"
    handler, item = body.optional_text("handler"), body.optional_text("item")
    sequence = body.optional_text("sequence")
    letters = _open_letters(call, name)
    try:
        heads = run_plan(call.recorder, letters.list_heads())
    except ResourceNotFoundException:
        heads = []
    wanted = [
        each
        for each in heads
        if each.state == "failed"
        and handler in (None, each.handler)
        and item in (None, each.item)
        and sequence in (None, str(each.sequence))
    ]
    marked = run_plan(call.recorder, letters.mark_for_retry(wanted))
    return {"retrying": marked, **list_dead_letters(call)}


def _open_letters(call: StudioCall, follower: str) -> DeadLetters:
    settings = StoreSettings([call.table], clock=call.workspace.clock)
    return DeadLetters(LeaseCalls(settings, lease_table_name(call.table)), follower)


def _find_followers(call: StudioCall) -> list[str] | None:
    """Return the names of the table's followers; None if none has ever run."""
    request = {
        "TableName": lease_table_name(call.table),
        "Limit": _LOOKED_AT,
        "ProjectionExpression": "pk",
    }
    try:
        items = call.recorder.execute("Scan", request)["Items"]
    except ResourceNotFoundException:
        return None
    texts = [str(item["pk"].get("S", "")) for item in items]
    names = {text.removeprefix("F#").split("#")[0] for text in texts if text.startswith("F#")}
    return sorted(names) or None


def _refuse_principal(call: StudioCall, operation: str) -> None:
    """Raise AccessDenied for a principal: only the administrator manages streams and followers."""
    if call.principal is not None:
        roles = ", ".join(call.principal.roles)
        fact = "only the administrator sees followers of a table, and switches its stream on"
        raise AccessDenied(roles, operation, call.table.name, fact)


ACTIONS: tuple[Action, ...] = (
    Action("changes/state", show_state),
    Action("changes/enable", enable_stream, writes=True),
    Action("changes/dead-letters", list_dead_letters),
    Action("changes/retry", retry_dead_letters, writes=True),
)
STREAMS: tuple[StreamAction, ...] = (StreamAction("changes/tail", tail_changes),)
