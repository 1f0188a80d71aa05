"""What the declaration promises of every stored item, checked without the model's own code."""

from __future__ import annotations

from collections import Counter

from keyfold.engine import Engine
from keyfold.values import AttributeValue, Item
from tests.property.promise_programs import Program, Spec

MemberKey = tuple[str, str]


def read_items(engine: Engine) -> list[Item]:
    """Return all items of the table, as they are stored."""
    return engine.execute("Scan", {"TableName": "Members"})["Items"]


def members_of(items: list[Item]) -> dict[MemberKey, Item]:
    """Return the members among the items, by team and name."""
    found: dict[MemberKey, Item] = {}
    for item in items:
        if item["pk"]["S"].startswith("TEAM#"):
            team, name = item["pk"]["S"].removeprefix("TEAM#"), item["sk"]["S"]
            found[team, name.removeprefix("MEMBER#")] = item
    return found


def find_broken(spec: Spec, program: Program, items: list[Item]) -> list[str]:
    """Return every broken promise, in words."""
    members = members_of(items)
    broken: list[str] = []
    for key, item in members.items():
        broken += [f"{key}: {each}" for each in _find_broken_member(spec, item)]
        try:
            program.member.keyfold_schema().decode(item)
        except Exception as error:  # noqa: BLE001 - whatever it is, the item cannot be read
            broken.append(f"{key}: it cannot be read: {error}")
    return broken + _find_broken_guards(spec, items)


def _find_broken_member(spec: Spec, item: Item) -> list[str]:
    broken: list[str] = []
    _, name = item["pk"]["S"], item["sk"]["S"].removeprefix("MEMBER#")
    age = int(item["age"]["N"])
    if not spec.lowest_age <= age <= 120:
        broken.append(f"its age is {age}")
    if not 0 <= int(item["points"]["N"]) <= 10:
        broken.append(f"its points are {item['points']}")
    if len(item.get("tags", {"SS": []})["SS"]) > spec.most_tags:
        broken.append(f"its tags are {item['tags']}")
    if len(item["notes"]["L"]) > 3:
        broken.append(f"its notes are {item['notes']}")
    login = _login_of(item)
    if not login:
        broken.append("its login is missing or empty")
    if "handle" in item and "login" in item:
        broken.append("it has its login under two names")
    if "address" in item and not 1 <= int(item["address"]["M"]["number"]["N"]) <= 9:
        broken.append(f"its address is {item['address']}")
    expected: dict[str, AttributeValue | None] = {
        "city_pk": {"S": f"CITY#{item['city']['S']}"} if "city" in item else None,
        "city_sk": {"S": f"{age:03}#{name}"},
        "label": None,
        "initial": {"S": login[:1]} if spec.has_hook else None,
    }
    if spec.has_choice and "city" not in item:
        team = item["pk"]["S"].removeprefix("TEAM#")
        expected |= {"city_pk": {"S": f"TEAM#{team}"}, "city_sk": {"S": name}}
    if spec.has_label:
        expected["label"] = {"S": f"{login} ({age})"}
    if spec.has_type and item.get("kind") not in ({"S": "Member"}, {"S": "Person"}):
        broken.append(f"its kind is {item.get('kind')}")
    if spec.has_version and int(item["version"]["N"]) < 1:
        broken.append(f"its version is {item['version']}")
    if spec.has_times:
        broken += [f"it has no {each}" for each in ("created_at", "updated_at") if each not in item]
    broken += [
        f"its {attribute} is {item.get(attribute)}, not {value}"
        for attribute, value in expected.items()
        if item.get(attribute) != value
    ]
    return broken


def _login_of(item: Item) -> str:
    return str(item.get("login", item.get("handle", {"S": ""}))["S"])


def _find_broken_guards(spec: Spec, items: list[Item]) -> list[str]:
    """Compare the guard items with the values that members have, by name, value and owner.

    What expires here has expired, and guards expire with their member.
    """
    wanted: Counter[tuple[str, str, str, str]] = Counter()
    items = [item for item in items if "expires" not in item]
    for item in members_of(items).values():
        for field in spec.unique:
            value = _login_of(item) if field == "handle" else item.get("email", {"S": ""})["S"]
            if value:
                wanted[f"Member.{field}", value, item["pk"]["S"], item["sk"]["S"]] += 1
    found: Counter[tuple[str, str, str, str]] = Counter(
        guard for item in items if (guard := read_guard(item)) is not None
    )
    values = Counter((name, value) for name, value, *_ in wanted.elements())
    broken = [
        f"several members have {name} {value}" for (name, value), n in values.items() if n > 1
    ]
    broken += [f"no guard for {each}" for each in wanted - found]
    broken += [f"a guard without its member: {each}" for each in found - wanted]
    return broken


def read_guard(item: Item) -> tuple[str, str, str, str] | None:
    """Return the name, value and owner's key of a guard item; None for other items."""
    if "keyfold_unique" not in item or "keyfold_owner" not in item:
        return None
    name, owner = item["keyfold_unique"]["S"], item["keyfold_owner"]["M"]
    start = f"keyfold#unique#{name}#S#"
    assert item["pk"]["S"].startswith(start), item
    return name, item["pk"]["S"].removeprefix(start), owner["pk"]["S"], owner["sk"]["S"]
