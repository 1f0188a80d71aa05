"""Plans: the steps that make a table match its declaration, as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from keyfold.deploy._states import IndexState, TableState, shape_key, shape_projection
from keyfold.model import Index, OnDemand, Provisioned, Table


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One change: its description, and the call that makes it.

    `removes` if it removes something that is not declared, or that has to be replaced.
    """

    text: str
    operation: str
    request: dict[str, Any]
    removes: bool = False


@dataclass(frozen=True, slots=True)
class UniqueStep:
    """A unique field whose guards are not complete, or guards that no unique field has.

    `name` is that of the guards. Making them takes a scan of the table, and a transaction for each
    value without a guard. If the step `removes` them, it takes a scan, and a delete for each guard.
    """

    text: str
    name: str
    removes: bool = False


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A difference that no call can fix, and a workaround."""

    fact: str
    advice: str


@dataclass(frozen=True, slots=True)
class TablePlan:
    """The steps for one table, in order.

    `withheld` are steps that are not done because they would remove something; `obstacles` are
    differences that cannot be fixed in place. `unique` has the guards of unique values that are to
    be made or removed, once the steps are done.
    """

    table: str
    steps: tuple[PlanStep, ...] = ()
    withheld: tuple[PlanStep | UniqueStep, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    unique: tuple[UniqueStep, ...] = ()

    @property
    def is_as_declared(self) -> bool:
        """Whether the table matches its declaration: nothing is left to do."""
        return not (self.steps or self.withheld or self.obstacles or self.unique)


def plan_table(
    table: Table,
    state: TableState | None,
    *,
    allow_removal: bool = False,
    unique: tuple[UniqueStep, ...] = (),
) -> TablePlan:
    """Compare a declared table with its current state; return the steps needed.

    `unique` has the steps for guards of unique values, which do not depend on the table's settings.

    Settings that are not declared (billing, protection, stream, tags) are left unchanged. Steps
    that remove something, and those that depend on them, are withheld unless `allow_removal`.
    """
    table.check()
    if state is None:
        return TablePlan(table.name, tuple(_create(table)))
    groups = (
        _change_billing(table, state),
        _change_protection(table, state),
        _change_stream(table, state),
        *_change_indexes(table, state),
        _change_expiry(table, state),
        *_change_tags(table, state),
    )
    steps: list[PlanStep] = []
    withheld: list[PlanStep | UniqueStep] = []
    for group in groups:
        is_withheld = not allow_removal and any(step.removes for step in group)
        (withheld if is_withheld else steps).extend(group)
    withheld.extend(step for step in unique if step.removes and not allow_removal)
    guards = tuple(step for step in unique if allow_removal or not step.removes)
    obstacles = tuple(_find_obstacles(table, state))
    return TablePlan(table.name, tuple(steps), tuple(withheld), obstacles, guards)


def _create(table: Table) -> Iterator[PlanStep]:
    request = table.to_dynamodb()
    listed = ", ".join(index.name for index in table.indexes)
    indexes = f" with {listed}" if listed else ""
    key = ", ".join(table.key.names)
    yield PlanStep(f"create table {table.name} by {key}{indexes}", "CreateTable", request)
    if table.ttl is not None:
        yield _set_expiry(table.name, table.ttl, is_on=True)


def _find_obstacles(table: Table, state: TableState) -> Iterator[Obstacle]:
    request = table.to_dynamodb()
    types = table.key_types()
    declared = shape_key(request["KeySchema"], types)
    if declared != state.key:
        yield Obstacle(
            f"its key is {_show_key(state.key)}; the declared key is {_show_key(declared)}",
            "A key cannot be changed in place. Declare the table under another name, apply, "
            "copy the items with `keyfold copy`, and switch over.",
        )
    for index in table.indexes:
        if index.local and not _fits(table, index, state.indexes.get(index.name)):
            yield Obstacle(
                f"local index {index.name} is missing, or differs from its declaration",
                "Local indexes can only be created with their table. Declare a global index, or "
                "declare the table under another name and copy the items with `keyfold copy`.",
            )
    names = {index.name for index in table.indexes}
    for index in state.indexes.values():
        if index.is_local and index.name not in names:
            yield Obstacle(
                f"local index {index.name} exists, but is not declared",
                "A local index cannot be removed from its table. Declare it.",
            )


def _fits(table: Table, index: Index, state: IndexState | None) -> bool:
    definition = index.to_dynamodb()
    return (
        state is not None
        and state.is_local is index.local
        and state.key == shape_key(definition["KeySchema"], table.key_types())
        and state.holds == shape_projection(definition["Projection"])
    )


def _change_indexes(table: Table, state: TableState) -> Iterator[list[PlanStep]]:
    """Yield the steps for each index; the removal and creation of a changed index are one group."""
    declared = {index.name: index for index in table.indexes if not index.local}
    for name, existing in state.indexes.items():
        if existing.is_local:
            continue
        index = declared.get(name)
        if index is None:
            text = f"remove index {name}, which is not declared"
            yield [_remove_index(table, name, text)]
        elif not _fits(table, index, existing):
            fact = f"{_show_key(existing.key)}, {_show_projection(existing)}"
            text = f"remove index {name} ({fact}), to add it again as declared"
            yield [_remove_index(table, name, text), _add_index(table, index, state)]
    for name, index in declared.items():
        if name not in state.indexes:
            yield [_add_index(table, index, state)]


def _remove_index(table: Table, name: str, text: str) -> PlanStep:
    change = {"Delete": {"IndexName": name}}
    request = {"TableName": table.name, "GlobalSecondaryIndexUpdates": [change]}
    return PlanStep(text, "UpdateTable", request, removes=True)


def _add_index(table: Table, index: Index, state: TableState) -> PlanStep:
    definition = index.to_dynamodb()
    billing = state.billing if table.billing is None else table.billing
    if isinstance(billing, Provisioned):
        definition["ProvisionedThroughput"] = billing.of(index.name).to_dynamodb()
    elif isinstance(billing, OnDemand) and (maximums := billing.of(index.name).to_dynamodb()):
        definition["OnDemandThroughput"] = maximums
    types = table.key_types()
    used = {*table.key.names, *index.key.names}
    used |= {name for each in state.indexes.values() for name, _, _ in each.key}
    known = {name: kind for key in _keys_of(state) for name, _, kind in key} | types
    request = {
        "TableName": table.name,
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": known[name]} for name in sorted(used)
        ],
        "GlobalSecondaryIndexUpdates": [{"Create": definition}],
    }
    key = ", ".join(index.key.names)
    return PlanStep(f"add index {index.name} by {key}", "UpdateTable", request)


def _keys_of(state: TableState) -> list[Any]:
    return [state.key, *(index.key for index in state.indexes.values())]


def _change_billing(table: Table, state: TableState) -> list[PlanStep]:
    if table.billing is None or _is_same_billing(table, state):
        return []
    billing = table.billing
    if not isinstance(billing, Provisioned):
        return _bill_on_demand(table.name, billing, state)
    request: dict[str, Any] = {
        "TableName": table.name,
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": billing.to_dynamodb(),
    }
    changed = [
        {"Update": {"IndexName": name, "ProvisionedThroughput": billing.of(name).to_dynamodb()}}
        for name, index in state.indexes.items()
        if not index.is_local and _index_units(state, name) != _units(billing.of(name))
    ]
    if changed:
        request["GlobalSecondaryIndexUpdates"] = changed
    was = state.billing
    if isinstance(was, Provisioned) and _units(was) == _units(billing):
        # The service refuses an update to the current values.
        del request["ProvisionedThroughput"], request["BillingMode"]
    text = f"provision {billing.read} read and {billing.write} write units a second"
    return [PlanStep(text, "UpdateTable", request)]


def _bill_on_demand(
    name: str, billing: OnDemand | Literal["on demand"], state: TableState
) -> list[PlanStep]:
    """Return the steps to capacity on demand, and to the maximums, if any are declared."""
    steps: list[PlanStep] = []
    was = state.billing
    if isinstance(was, Provisioned):
        request = {"TableName": name, "BillingMode": "PAY_PER_REQUEST"}
        steps.append(PlanStep("pay for capacity on demand", "UpdateTable", request))
        was = OnDemand()
    if billing == "on demand" or not isinstance(was, OnDemand):
        return steps
    if _limits(billing) != _limits(was):
        wanted = {"TableName": name, "OnDemandThroughput": _set_maximums(billing)}
        text = f"limit the table to {_show_maximums(billing)}"
        steps.append(PlanStep(text, "UpdateTable", wanted))
    for index in state.indexes.values():
        own = billing.of(index.name)
        if not index.is_local and _limits(own) != _limits(was.of(index.name)):
            update = {"IndexName": index.name, "OnDemandThroughput": _set_maximums(own)}
            wanted = {"TableName": name, "GlobalSecondaryIndexUpdates": [{"Update": update}]}
            text = f"limit index {index.name} to {_show_maximums(own)}"
            steps.append(PlanStep(text, "UpdateTable", wanted))
    return steps


def _set_maximums(billing: OnDemand) -> dict[str, int]:
    """Return an OnDemandThroughput that sets both maximums; -1 removes one."""
    return {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1} | billing.to_dynamodb()


def _show_maximums(billing: OnDemand) -> str:
    reads, writes = ("any number of" if each is None else each for each in _limits(billing))
    return f"{reads} read and {writes} write units a second"


def _limits(billing: OnDemand) -> tuple[int | None, int | None]:
    return billing.max_read, billing.max_write


def _units(billing: Provisioned) -> tuple[int, int]:
    return billing.read, billing.write


def _index_units(state: TableState, name: str) -> tuple[int, int] | None:
    return _units(state.billing.of(name)) if isinstance(state.billing, Provisioned) else None


def _is_same_billing(table: Table, state: TableState) -> bool:
    declared, existing = table.billing, state.billing
    if isinstance(declared, Provisioned) is not isinstance(existing, Provisioned):
        return False
    if not isinstance(declared, Provisioned) or not isinstance(existing, Provisioned):
        # "on demand" leaves maximums unchanged.
        return declared == "on demand" or declared is None
    indexes = [index.name for index in state.indexes.values() if not index.is_local]
    return _units(declared) == _units(existing) and all(
        _units(declared.of(name)) == _units(existing.of(name)) for name in indexes
    )


def _change_protection(table: Table, state: TableState) -> list[PlanStep]:
    wanted = table.deletion_protection
    if wanted is None or wanted is state.is_protected:
        return []
    request = {"TableName": table.name, "DeletionProtectionEnabled": wanted}
    text = "protect it from deletion" if wanted else "no longer protect it from deletion"
    return [PlanStep(text, "UpdateTable", request, removes=not wanted)]


def _change_stream(table: Table, state: TableState) -> list[PlanStep]:
    declared = table.stream_to_dynamodb()
    wanted = declared.get("StreamViewType")
    if wanted is None or wanted == state.stream:
        return []
    steps: list[PlanStep] = []
    if state.stream is not None:
        off = {"TableName": table.name, "StreamSpecification": {"StreamEnabled": False}}
        text = f"turn off its stream of {state.stream}, to turn it on as declared"
        steps.append(PlanStep(text, "UpdateTable", off, removes=True))
    request = {"TableName": table.name, "StreamSpecification": declared}
    return [*steps, PlanStep(f"turn on a stream of {wanted}", "UpdateTable", request)]


def _change_expiry(table: Table, state: TableState) -> list[PlanStep]:
    if table.ttl == state.ttl:
        return []
    steps: list[PlanStep] = []
    if state.ttl is not None:
        steps.append(_set_expiry(table.name, state.ttl, is_on=False))
    if table.ttl is not None:
        steps.append(_set_expiry(table.name, table.ttl, is_on=True))
    return steps


def _set_expiry(name: str, attribute: str, *, is_on: bool) -> PlanStep:
    request = {
        "TableName": name,
        "TimeToLiveSpecification": {"AttributeName": attribute, "Enabled": is_on},
    }
    text = f"let items expire by {attribute}" if is_on else f"no longer expire by {attribute}"
    return PlanStep(text, "UpdateTimeToLive", request, removes=not is_on)


def _change_tags(table: Table, state: TableState) -> Iterator[list[PlanStep]]:
    if table.tags is None:
        return
    changed = {key: value for key, value in table.tags.items() if state.tags.get(key) != value}
    # Tags with this prefix are set by AWS and cannot be removed.
    gone = sorted(key for key in state.tags if key not in table.tags and not key.startswith("aws:"))
    if changed:
        listed = [{"Key": key, "Value": value} for key, value in sorted(changed.items())]
        text = "tag it " + ", ".join(f"{key}={value}" for key, value in sorted(changed.items()))
        yield [PlanStep(text, "TagResource", {"ResourceArn": state.arn, "Tags": listed})]
    if gone:
        request = {"ResourceArn": state.arn, "TagKeys": gone}
        text = f"remove the tags {', '.join(gone)}, which are not declared"
        yield [PlanStep(text, "UntagResource", request, removes=True)]


def _show_key(key: tuple[tuple[str, str, str], ...]) -> str:
    return ", ".join(f"{name} ({kind})" for name, _, kind in key)


def _show_projection(index: IndexState) -> str:
    kind, names = index.holds
    match kind:
        case "ALL":
            return "all attributes"
        case "KEYS_ONLY":
            return "keys only"
        case _:
            return "with " + ", ".join(sorted(names))
