"""The room Console: PartiQL statements, their plans, completion and results."""

from __future__ import annotations

from typing import Any

from keyfold.analysis import find_sample
from keyfold.model._hidden_attributes import hide_secrets
from keyfold.studio._actions import Action, StudioCall
from keyfold.studio._problems import StudioProblem
from keyfold.studio._shown_items import find_entity, show_item
from keyfold.studio._shown_values import LONG_BYTES, show_stored
from keyfold.studio.rooms._statement_estimates import ASKS_ABOVE, estimate_read
from keyfold.studio.rooms._statement_examples import make_examples
from keyfold.studio.rooms._statement_names import complete
from keyfold.studio.rooms._statement_plans import StatementPlan, plan_statement, show_plan
from keyfold.studio.rooms._statement_previews import preview_write
from keyfold.values import Item

# The service takes statements of up to 8,192 characters.
_MOST_TEXT = 20_000
_LIMIT, _MOST_ITEMS = 50, 1_000
_EXAMPLE_ITEMS = 40


def plan(call: StudioCall) -> dict[str, Any]:
    """Return what a statement would do, without running it.

    With `preview`, a statement that writes reads its item, and shows what that would become.
    """
    text = _read_text(call)
    found = plan_statement(call.table, text)
    shown = _show(call, found)
    if found.is_write and call.body.flag("preview"):
        shown["preview"] = preview_write(call, found, text)
    return shown


def run(call: StudioCall) -> dict[str, Any]:
    """Run a SELECT, and return a page of items; one that takes more than 10 units has to be `confirmed`."""
    text = _read_text(call)
    found = plan_statement(call.table, text)
    if found.is_write:
        message = "The statement writes. Writes are shown first, and then confirmed."
        raise StudioProblem(422, "statement-writes", message)
    shown = _show(call, found)
    estimate = shown["estimate"]
    if estimate is not None and estimate["asks"] and not call.body.flag("confirmed"):
        message = f"A page may take about {estimate['most']:,.6g} read units. Confirm to run it."
        raise StudioProblem(409, "statement-costs", message, plan=shown)
    request: dict[str, Any] = {"Statement": text, "Limit": _read_limit(call)}
    items: list[Item] = []
    token = call.body.optional_text("token")
    while not items:
        if token is not None:
            request["NextToken"] = token
        response = call.store.execute("ExecuteStatement", request)
        items, token = response["Items"], response.get("NextToken")
        # A filter may have excluded every item of a page.
        if token is None or call.recorder.count_units()[0] >= ASKS_ABOVE:
            break
    return {"plan": shown, "token": token, **_show_items(call, found, items)}


def write(call: StudioCall) -> dict[str, Any]:
    """Run a statement that writes, once it is `confirmed`; return what it returns."""
    text = _read_text(call)
    found = plan_statement(call.table, text)
    if not found.is_write:
        message = "The statement reads. Run it, instead of writing."
        raise StudioProblem(422, "statement-reads", message)
    if not call.body.flag("confirmed"):
        message = "Look at what the statement changes, and confirm it."
        raise StudioProblem(409, "statement-unconfirmed", message)
    response = call.store.execute("ExecuteStatement", {"Statement": text})
    items = response.get("Items", [])
    return {"plan": _show(call, found), "token": None, **_show_items(call, found, items)}


def offer(call: StudioCall) -> dict[str, Any]:
    """Return the completions at the end of `text`, which is a statement up to the cursor."""
    return complete(call.table, _read_text(call))


def list_examples(call: StudioCall) -> dict[str, Any]:
    """Return statements about items that the table has; as a role, about those of its declaration."""
    items: list[Item] = []
    if call.principal is None:
        request = {"TableName": call.table.name, "Limit": _EXAMPLE_ITEMS}
        items += call.store.execute("Scan", request)["Items"]
    if not items:
        items += find_sample(call.table).items
    writes = not call.workspace.read_only
    found = make_examples(call.table, items, writes=writes)
    return {"examples": [each._asdict() for each in found]}


def _read_text(call: StudioCall) -> str:
    text = call.body.text("statement")
    if len(text) > _MOST_TEXT:
        message = f"The statement has {len(text):,} characters; the service takes up to 8,192."
        raise StudioProblem(422, "statement-too-long", message)
    return text


def _read_limit(call: StudioCall) -> int:
    return call.body.integer("limit", least=1, most=_MOST_ITEMS, default=_LIMIT)


def _show(call: StudioCall, found: StatementPlan) -> dict[str, Any]:
    estimate = estimate_read(call, found, _read_limit(call))
    shown = show_plan(call.table, found)
    shown["estimate"] = None if estimate is None else estimate.to_json()
    return shown


def _show_items(call: StudioCall, found: StatementPlan, items: list[Item]) -> dict[str, Any]:
    """Return items in the studio's shape, if they have their keys, and as they came."""
    table = call.table
    schemas = [*table.entities.values()]
    index = next((each for each in table.indexes if each.name == found.index), None)
    is_partial = found.columns is not None or (index is not None and index.project != "all")
    has_keys = all(name in item for item in items for name in table.key.names)
    shown: list[dict[str, Any]] = []
    for item in items if has_keys and found.columns is None else ():
        each = show_item(table, item, now=call.now)
        if is_partial:
            # It lacks fields because they were not read.
            each["problem"] = None
        shown.append(each)
    raw: list[dict[str, Any]] = []
    for item in items:
        hidden = hide_secrets(schemas, item)
        raw.append({name: show_stored(hidden[name], most=LONG_BYTES) for name in item})
    return {
        "items": shown if has_keys and found.columns is None else None,
        "entities": [_name_entity(call, item) for item in items] if has_keys else None,
        "raw": raw,
    }


def _name_entity(call: StudioCall, item: Item) -> str | None:
    schema = find_entity(call.table, item)
    return None if schema is None else schema.name


ACTIONS: tuple[Action, ...] = (
    Action("console/plan", plan),
    Action("console/run", run),
    Action("console/write", write, writes=True),
    Action("console/complete", offer),
    Action("console/examples", list_examples),
)
