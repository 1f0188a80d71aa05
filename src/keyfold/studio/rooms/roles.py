"""The room "As a role": what a role may touch, which patterns it runs, and why something is denied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from keyfold.errors import KeyfoldError, PrincipalInvalid
from keyfold.model import Pattern
from keyfold.policy import Access, Guard, Right, Role
from keyfold.policy.iam import export_policy
from keyfold.studio._actions import Action, StudioCall
from keyfold.studio._problems import StudioProblem
from keyfold.studio._workspace import StudioPrincipal
from keyfold.studio.rooms._role_rules import (
    find_lookup_patterns,
    find_right,
    find_tenant_ids,
    show_areas,
    show_extras,
    show_indexes,
)
from keyfold.studio.rooms._role_sources import find_role_source, show_source_change
from keyfold.studio.rooms._role_traces import (
    find_able_roles,
    make_access,
    shorten_fact,
    show_trace,
)
from keyfold.studio.rooms._role_trials import (
    Trial,
    TrialRefusal,
    TrialTable,
    encode_entity,
    open_trials,
)
from keyfold.values import Item

# Suggestions of tenants cost no more than a link may: ten units.
_MOST_UNITS = 9.0
_LOOK, _LOOKS = 8, 18
_SUGGESTED, _EXAMPLES = 50, 2
# Sorts after every sort key that people write: a scan goes on with the next partition.
_LAST_SORT_KEY = "\U0010ffff" * 4
_SHOWN_ARGUMENT = 60


def find_tenants(call: StudioCall) -> dict[str, Any]:
    """Return ids of the tenants of a role that the table has, from a bounded read."""
    role = _find_role(call)
    if role.tenant is None:
        return {"tenant": None, "ids": []}
    found = dict.fromkeys(_find_example_tenants(call, role))
    for item in _look_around(call):
        found.update(dict.fromkeys(find_tenant_ids(call.table, role, item)))
        if len(found) >= _SUGGESTED:
            break
    return {
        "tenant": role.tenant,
        "ids": [each for each in found if _is_usable(call, role, each)],
    }


def _find_example_tenants(call: StudioCall, role: Role) -> Iterator[str]:
    """Yield tenants of the declaration's examples that the database has: readers know them."""
    table = call.table
    listed: dict[str, Item] = {}
    for entity in table.example_entities():
        item = encode_entity(entity)
        for tenant in find_tenant_ids(table, role, item):
            listed.setdefault(tenant, {name: item[name] for name in table.key.names})
    for tenant, key in list(listed.items())[:_EXAMPLES]:
        name = table.key.partition[0]
        request: dict[str, Any] = {
            "TableName": table.name,
            "KeyConditionExpression": "#p = :p",
            "ExpressionAttributeNames": {"#p": name},
            "ExpressionAttributeValues": {":p": key[name]},
            "Limit": 1,
        }
        if call.recorder.execute("Query", request)["Count"]:
            yield tenant


def _is_usable(call: StudioCall, role: Role, tenant: str) -> bool:
    try:
        Guard(call.table.layout, role, {role.tenant or "": tenant})
    except PrincipalInvalid:
        return False
    return True


def _look_around(call: StudioCall) -> Iterator[Item]:
    """Yield some items of each of several partitions."""
    table = call.table
    request: dict[str, Any] = {"TableName": table.name, "Limit": _LOOK}
    for _ in range(_LOOKS):
        response = call.recorder.execute("Scan", request)
        yield from response["Items"]
        last = response.get("LastEvaluatedKey")
        if last is None or call.recorder.count_units()[0] >= _MOST_UNITS:
            return
        if table.key.sort and "S" in last[table.key.sort[0]]:
            last = {**last, table.key.sort[0]: {"S": _LAST_SORT_KEY}}
        request["ExclusiveStartKey"] = last


def show_matrix(call: StudioCall) -> dict[str, Any]:
    """Return what a role may touch; with the tenant's id, its partitions and how many items it reads."""
    role, ids = _find_role(call), _read_ids(call)
    own = None if role.tenant is None else ids.get(role.tenant)
    if role.tenant is None or own is not None:
        # Raises PrincipalInvalid for an id that keys cannot have.
        Guard(call.table.layout, role, ids)
    areas = show_areas(call.table, role, own)
    counts = call.workspace.kind != "service" or call.body.flag("count")
    readable = _count_areas(call, role, ids, areas) if counts else {}
    for area in areas:
        area["count"] = readable.get(area["name"])
    described = call.workspace.executor.execute("DescribeTable", {"TableName": call.table.name})
    source = find_role_source(call.table, role)
    return {
        "role": role.name,
        "tenant": role.tenant,
        "own": own,
        "areas": areas,
        "indexes": show_indexes(call.table, role, own),
        "extras": show_extras(role),
        "counted": counts,
        "total": described["Table"].get("ItemCount"),
        "declared": None
        if source is None
        else {"file": "/".join(source.file.rsplit("/", 2)[-2:]), "line": source.line},
    }


def _count_areas(
    call: StudioCall, role: Role, ids: Mapping[str, str], areas: list[dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Count the items of partitions that are one tenant's, as the role; one page of each."""
    own = None if role.tenant is None else ids.get(role.tenant)
    if own is None:
        return {}
    principal = StudioPrincipal((role.name,), ids)
    store = call.workspace.open_store(call.subject, principal, call.recorder)
    found: dict[str, dict[str, Any]] = {}
    for area in areas:
        if "query" not in area["rights"] or area["scope"] != "own":
            continue
        total, is_whole = 0, True
        for pieces in area["partitions"]:
            text = "".join(piece["text"] for piece in pieces)
            if any(piece.get("part", role.tenant) != role.tenant for piece in pieces):
                is_whole = False
                continue
            request = {
                "TableName": call.table.name,
                "KeyConditionExpression": "#p = :p",
                "ExpressionAttributeNames": {"#p": call.table.key.partition[0]},
                "ExpressionAttributeValues": {":p": {"S": text}},
                "Select": "COUNT",
            }
            response = store.execute("Query", request)
            total += response["Count"]
            is_whole = is_whole and "LastEvaluatedKey" not in response
        found[area["name"]] = {"items": total, "whole": is_whole}
    return found


def list_patterns(call: StudioCall) -> dict[str, Any]:
    """Return which patterns run as a role, and why others are denied, tried on example items."""
    role, ids = _find_role(call), _read_ids(call)
    with open_trials(call.table, role, ids) as trials:
        listed = [
            _show_outcome(trials.try_pattern(pattern), role)
            for pattern in call.table.patterns.values()
        ]
    return {"patterns": listed}


def _show_outcome(trial: Trial, role: Role) -> dict[str, Any]:
    note = trial.note if trial.refusal is None else shorten_fact(trial.refusal.fact, role)
    return {
        "name": trial.pattern.__name__,
        "title": trial.pattern.name,
        "outcome": trial.outcome,
        "note": note,
    }


def try_access(call: StudioCall) -> dict[str, Any]:
    """Return why a pattern or one access is allowed or denied; nothing is read or written."""
    role, ids = _find_role(call), _read_ids(call)
    with open_trials(call.table, role, ids) as trials:
        name = call.body.optional_text("pattern")
        if name is not None:
            return _try_pattern(call, trials, role, ids, name)
        return _try_right(call, trials, role, ids)


def _try_pattern(
    call: StudioCall, trials: TrialTable, role: Role, ids: Mapping[str, str], name: str
) -> dict[str, Any]:
    pattern = _find_pattern(call, name)
    trial = trials.try_pattern(pattern)
    refusal = trial.refusal
    told: dict[str, Any] = {
        "pattern": name,
        "title": name,
        "outcome": trial.outcome,
        "note": trial.note,
        "operations": list(trial.operations),
        "arguments": {
            key: str(value)[:_SHOWN_ARGUMENT] for key, value in (trial.arguments or {}).items()
        },
    }
    if refusal is None:
        return told
    told["steps"] = _count_steps(pattern)
    return {**told, **_show_refusal(call, role, ids, refusal)}


def _count_steps(pattern: Pattern[..., Any]) -> int | None:
    try:
        return pattern.explain().round_trips
    except KeyfoldError:
        return None


def _try_right(
    call: StudioCall, trials: TrialTable, role: Role, ids: Mapping[str, str]
) -> dict[str, Any]:
    body, table = call.body, call.table
    right = find_right(body.text("right"))
    if right is None:
        known = "get, query, create, update or delete"
        raise StudioProblem(422, "right-unknown", f"There is no such right; give {known}.")
    index, area = body.optional_text("index"), body.optional_text("area")
    partition, sort = body.optional_text("partition"), body.optional_text("sort")
    if index is not None and index not in table.layout.indexes:
        raise StudioProblem(404, "index-unknown", f"{table.name} has no index {index!r}.")
    if not partition and area is not None:
        if area not in table.layout.areas:
            raise StudioProblem(404, "shard-unknown", f"{table.name} has no shard {area!r}.")
        key = trials.find_key(area)
        if key is None:
            message = f"There is no example of an item in {area}. Give a key."
            raise StudioProblem(422, "key-incomplete", message)
        texts = [str(next(iter(each.values()))) for each in key.values()]
        partition, sort = texts[0], texts[1] if len(texts) > 1 else None
        if right is Right.QUERY and not table.layout.areas[area].is_shared_by(role.tenant or ""):
            sort = None
    if not partition:
        raise StudioProblem(422, "key-incomplete", "Give the partition key to try.")
    access = make_access(table, right, partition, sort, index)
    guard = Guard(table.layout, role, ids)
    denial = guard.check(access, unique=frozenset())
    shown = " · ".join(each for each in (partition, sort) if each)
    told: dict[str, Any] = {
        "pattern": None,
        "title": f"{body.text('right')} {index or area or ''}".strip(),
        "key": shown,
        "partition": partition,
        "sort": sort or "",
        "note": "",
        "operations": [],
        "arguments": {},
        "outcome": "runs" if denial is None else "denied",
    }
    if denial is None:
        checks = show_trace(table, guard, access, None)
        return {**told, "operation": access.action, "checks": checks, **_locate(checks)}
    refusal = TrialRefusal(access, denial.fact, unique=frozenset())
    return {**told, **_show_refusal(call, role, ids, refusal)}


def _show_refusal(
    call: StudioCall, role: Role, ids: Mapping[str, str], refusal: TrialRefusal
) -> dict[str, Any]:
    table, access = call.table, refusal.access
    checks = show_trace(table, Guard(table.layout, role, ids), access, refusal.fact)
    located = _locate(checks)
    missing = Right(0)
    for name in located["missing"]:
        missing |= find_right(name) or Right(0)
    area = located["area"]
    change = None
    is_about_rights = bool(area and missing) and all(
        each["passes"] for each in checks if each["name"] != "Right"
    )
    if is_about_rights:
        change = show_source_change(table, role, area, missing)
    return {
        "operation": access.action,
        "enclosing": access.enclosing,
        "index": access.index_name,
        "step": refusal.step,
        "fact": refusal.fact,
        "checks": checks,
        **located,
        "able": find_able_roles(table, role, access, ids, refusal.unique),
        "change": change,
        "advice": "" if is_about_rights else _advise(call, role, access, checks),
    }


def _locate(checks: list[dict[str, Any]]) -> dict[str, Any]:
    area = next((each["area"] for each in checks if each.get("area")), "")
    missing: list[str] = next(
        (each["missing"] for each in checks if each.get("missing")), list[str]()
    )
    return {"area": area, "missing": missing}


def _advise(call: StudioCall, role: Role, access: Access, checks: list[dict[str, Any]]) -> str:
    """Return what to do where no right is missing."""
    failed = {each["name"] for each in checks if not each["passes"]}
    if "Tenant" in failed and access.index_name is not None:
        patterns = find_lookup_patterns(call.table).get(access.index_name, [])
        advice = f"{access.index_name} has items of every {role.tenant}."
        return f"{advice} Patterns look up there: {', '.join(patterns)}." if patterns else advice
    if "Tenant" in failed:
        return (
            f"No right of {role.name} reaches what belongs to another {role.tenant}. A role "
            f"without a tenant can have one."
        )
    if "Fields" in failed:
        return f"See hidden, fixed and unique in the declaration of {role.name}."
    if "Key" in failed:
        return f"{role.name} has rights in shards only; a right of EVERYTHING would be needed."
    return f"Declare it among the rights or operations of {role.name}."


def show_policy(call: StudioCall) -> dict[str, Any]:
    """Return the IAM policy of a role, and where it is wider or narrower than the role."""
    role = _find_role(call)
    export = export_policy(call.table.layout, role)
    order = ("wider", "narrower", "same")
    gaps = sorted(export.gaps, key=lambda gap: order.index(gap.direction))
    return {
        "json": export.to_json(),
        "statements": len(export.document["Statement"]),
        "tag": None if role.tenant is None else f"aws:PrincipalTag/{role.tenant}",
        "gaps": [
            {
                "direction": gap.direction,
                "kind": gap.kind,
                "subject": gap.subject,
                "fact": gap.fact,
                "advice": gap.advice,
                "actions": sorted(gap.actions),
            }
            for gap in gaps
        ],
    }


def _find_role(call: StudioCall) -> Role:
    name = call.body.text("role")
    role = call.table.roles.get(name)
    if role is None:
        known = ", ".join(call.table.roles) or "none"
        message = f"{call.table.name} has no role {name!r}; it has {known}."
        raise StudioProblem(404, "role-unknown", message)
    return role


def _read_ids(call: StudioCall) -> dict[str, str]:
    given = call.body.mapping("ids")
    if not all(isinstance(value, str) for value in given.values()):
        raise StudioProblem(400, "request-malformed", "ids have to be texts.")
    return {name: value for name, value in given.items() if value}


def _find_pattern(call: StudioCall, name: str) -> Pattern[..., Any]:
    for pattern in call.table.patterns.values():
        if name in (pattern.__name__, pattern.name):
            return pattern
    raise StudioProblem(404, "pattern-unknown", f"{call.table.name} has no pattern {name!r}.")


ACTIONS: tuple[Action, ...] = (
    Action("role/tenants", find_tenants),
    Action("role/matrix", show_matrix),
    Action("role/patterns", list_patterns),
    Action("role/try", try_access),
    Action("role/policy", show_policy),
)
