"""Why an access is allowed or denied, as checks of its key, tenant, right and fields.

The guard decides. A trace shows what the guard's own rules say about each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from keyfold.errors import PrincipalInvalid
from keyfold.model import Table
from keyfold.policy import OWN_START, Access, Guard, Right, Role
from keyfold.policy._rules import Grant, PartitionMatch, rules_of
from keyfold.policy.accesses import read_accesses
from keyfold.studio._problems import StudioProblem
from keyfold.studio._shown_keys import split_key
from keyfold.studio.rooms._role_rules import name_rights
from keyfold.values import AttributeValue


def make_access(
    table: Table, right: Right, partition: str, sort: str | None, index: str | None
) -> Access:
    """Return one access with a right, to an item or a partition; raises StudioProblem.

    It is read from a request, as the store and the server read it.
    """
    operation, request = _make_request(table, right, partition, sort, index)
    keys = table.layout.key_names
    [access] = read_accesses(operation, request, lambda _: keys)
    return access


def _make_request(
    table: Table, right: Right, partition: str, sort: str | None, index: str | None
) -> tuple[str, dict[str, Any]]:
    kinds = {
        each["AttributeName"]: each["AttributeType"]
        for each in table.to_dynamodb()["AttributeDefinitions"]
    }
    names = table.layout.indexes[index].partition if index is not None else table.key.partition
    if right is Right.QUERY:
        texts = partition.split("\n") if len(names) > 1 else [partition]
        if len(texts) != len(names):
            raise _refuse_key(f"{index} has the partition key {', '.join(names)}.")
        aliases = {f"#p{number}": name for number, name in enumerate(names)}
        values = {
            f":p{number}": _make_value(kinds[name], text)
            for number, (name, text) in enumerate(zip(names, texts, strict=True))
        }
        condition = " AND ".join(f"#p{number} = :p{number}" for number in range(len(names)))
        if sort and index is None and table.key.sort:
            aliases["#s"], values[":s"] = table.key.sort[0], {"S": sort}
            condition += " AND begins_with(#s, :s)"
        request: dict[str, Any] = {
            "TableName": table.name,
            "KeyConditionExpression": condition,
            "ExpressionAttributeNames": aliases,
            "ExpressionAttributeValues": values,
        }
        return "Query", request | ({} if index is None else {"IndexName": index})
    if index is not None:
        raise _refuse_key(f"{index} can only be queried.")
    key = {names[0]: _make_value(kinds[names[0]], partition)}
    if table.key.sort:
        if not sort:
            raise _refuse_key(f"An item needs a sort key, {table.key.sort[0]}, too.")
        key[table.key.sort[0]] = _make_value(kinds[table.key.sort[0]], sort)
    only: dict[str, Any] = {"ExpressionAttributeNames": {"#p": names[0]}}
    match right:
        case Right.GET:
            return "GetItem", {"TableName": table.name, "Key": key}
        case Right.CREATE:
            only["ConditionExpression"] = "attribute_not_exists(#p)"
            return "PutItem", {"TableName": table.name, "Item": key, **only}
        case Right.UPDATE:
            only["ConditionExpression"] = "attribute_exists(#p)"
            return "UpdateItem", {"TableName": table.name, "Key": key, **only}
        case _:
            return "DeleteItem", {"TableName": table.name, "Key": key}


def _make_value(kind: str, text: str) -> AttributeValue:
    return {"N": text} if kind == "N" else {"S": text}


def _refuse_key(message: str) -> StudioProblem:
    return StudioProblem(422, "key-incomplete", message)


def show_trace(
    table: Table, guard: Guard, access: Access, fact: str | None
) -> list[dict[str, Any]]:
    """Return the checks of an access; `fact` says why it is denied, None if it is allowed."""
    if not access.rights:
        allowed = fact is None
        return [_check("Right", allowed, text=access.action, note="" if allowed else fact or "")]
    if access.partition is None:
        return [*_trace_scan(guard, access, fact)]
    if access.index_name is not None and not table.layout.indexes[access.index_name].is_local:
        return [*_trace_index(table, guard, access, fact)]
    return [*_trace_partition(table, guard, access, fact)]


def _trace_scan(guard: Guard, access: Access, fact: str | None) -> Iterator[dict[str, Any]]:
    everything = guard.rules.everything
    yield _check("Key", everything is not None, text="every partition", note="is read by a scan")
    has = 0 if everything is None else everything.rights
    yield from _trace_rest(guard, access, has, fact, where="EVERYTHING")


def _trace_index(
    table: Table, guard: Guard, access: Access, fact: str | None
) -> Iterator[dict[str, Any]]:
    assert access.index_name is not None
    assert access.partition is not None
    index, role = table.layout.indexes[access.index_name], guard.role
    shown = " · ".join(str(next(iter(each.values()))) for each in access.partition)
    yield _check("Key", text=shown, note=f"is a partition of {index.name}")
    if role.tenant is None:
        yield from _trace_rest(guard, access, guard.rules.indexes[index.name].grant.rights, fact)
        return
    grant = _find_index_grant(guard, index.name, access.partition)
    note = f"is not one of its own {role.tenant}" if grant is None else "is its own"
    own = f"{role.tenant} = {guard.tenant}"
    yield _check("Tenant", grant is not None, text=own if grant else "", note=note)
    if grant is not None:
        yield from _trace_rest(guard, access, grant.rights, fact)


def _find_index_grant(
    guard: Guard, index: str, partition: tuple[AttributeValue, ...]
) -> Grant | None:
    """Return what a role may do in an own partition of an index; None if it is not its own."""
    rules, tenant = guard.rules.indexes[index], guard.tenant or ""
    texts = [value.get("S") for value in partition]
    for own in rules.own:
        if texts == [own.render(tenant)]:
            return own.grant
    for match in rules.own_by_match:
        if len(texts) == len(match.matches) and match.find_tenant(texts) == tenant:
            return match.grant
    return None


def _trace_partition(
    table: Table, guard: Guard, access: Access, fact: str | None
) -> Iterator[dict[str, Any]]:
    assert access.partition is not None
    rules, role = guard.rules, guard.role
    text = access.partition[0].get("S")
    match = _find_match(guard, text)
    is_reserved = text is not None and text.startswith(OWN_START)
    rest = None if is_reserved else rules.otherwise
    grant: Grant | None = rest if match is None else match.grant
    area = "" if grant is None else grant.parts[0][0]
    yield _check(
        "Key",
        grant is not None,
        text=str(next(iter(access.partition[0].values()))),
        pieces=_split(table, area, text),
        area=area if area in table.layout.areas else "",
        note=_describe_area(table, area)
        if grant is not None
        else "is reserved for Keyfold's own items"
        if is_reserved
        else "has the form of no shard",
    )
    if grant is None:
        return
    if role.tenant is None:
        yield _check("Tenant", note="none: it may use what belongs to every tenant")
    elif match is not None and match.tenant is not None:
        is_own = match.tenant == guard.tenant
        note = "is its own" if is_own else f"is another's: its own is {guard.tenant}"
        yield _check("Tenant", is_own, text=f"{role.tenant} = {match.tenant}", note=note)
        if not is_own:
            return
    elif grant.own_items is not None:
        is_own = guard.tenant is not None and grant.own_items.has(access, guard.tenant)
        shown = (access.sort_key or {}).get("S") or access.sort_prefix or "every sort key"
        note = "is its own" if is_own else f"is not limited to its own {role.tenant}"
        yield _check("Tenant", is_own, text=shown, note=note)
    else:
        yield _check("Tenant", note=f"{area} is shared by all")
    yield from _trace_rest(guard, access, grant.rights, fact)


def _find_match(guard: Guard, text: str | None) -> PartitionMatch | None:
    """Return the area of a partition in the order of the guard: the tenant's own ones first."""
    if text is None:
        return None
    rules = guard.rules
    for own in rules.own:
        if guard.tenant is not None and own.render(guard.tenant) == text:
            return PartitionMatch(own.grant, guard.tenant)
    if text in rules.exact:
        return PartitionMatch(rules.exact[text], None)
    if text.startswith(OWN_START):
        return None if rules.everything is None else PartitionMatch(rules.everything, None)
    return rules.find(text)


def _trace_rest(
    guard: Guard, access: Access, has: int, fact: str | None, *, where: str = ""
) -> Iterator[dict[str, Any]]:
    missing = name_rights(access.rights.value & ~has)
    needed = name_rights(access.rights.value)
    owned = ", ".join(name_rights(has)) or "nothing"
    of = f" of {where}" if where else ""
    verb = "are" if len(needed) > 1 else "is"
    note = f"{verb} needed{of}; it has {owned}"
    yield _check("Right", not missing, text=" and ".join(needed), note=note, missing=missing)
    is_field = fact is not None and not missing and not _is_of_tenant(fact, guard.role)
    if is_field:
        yield _check("Fields", passes=False, note=shorten_fact(fact or "", guard.role))


def _is_of_tenant(fact: str, role: Role) -> bool:
    return fact.endswith(f"its own {role.tenant}")


def shorten_fact(fact: str, role: Role) -> str:
    """Return why something is denied, without the name of the role.

    >>> shorten_fact("rewards: customer lacks create", Role("customer", can={}))
    'rewards: lacks create'
    """
    return fact.replace(f"{role.name} ", "", 1)


def _check(name: str, passes: bool = True, **facts: Any) -> dict[str, Any]:  # noqa: FBT001, FBT002 - what a check is about
    return {"name": name, "passes": passes, **facts}


def _split(table: Table, area: str, text: str | None) -> list[dict[str, Any]] | None:
    found = table.layout.areas.get(area)
    for template in found.templates if found and text is not None else ():
        pieces = split_key(template, text or "")
        if pieces is not None:
            return pieces
    return None


def _describe_area(table: Table, area: str) -> str:
    found = table.layout.areas.get(area)
    if found is None:
        return "is outside of all shards"
    return f"is shard {area}" if found.is_shard else f"is {area}, outside of shards"


def find_able_roles(
    table: Table,
    role: Role,
    access: Access,
    ids: Mapping[str, str],
    unique: frozenset[str] | None,
) -> list[dict[str, Any]]:
    """Return the other roles that allow an access, each with the ids that it needs for it."""
    found: list[dict[str, Any]] = []
    text = (access.partition[0].get("S") if access.partition else None) or ""
    for other in table.roles.values():
        if other.name == role.name:
            continue
        own: dict[str, str] = {}
        if other.tenant is not None:
            match = rules_of(table.layout, other).find(text)
            tenant = (match.tenant if match else None) or ids.get(other.tenant)
            if tenant is None:
                continue
            own = {other.tenant: tenant}
        try:
            guard = Guard(table.layout, other, own)
        except PrincipalInvalid:
            continue
        if guard.check(access, unique=unique) is None:
            found.append({"role": other.name, "ids": own})
    return found
