"""Random small tables, roles on them, and requests by any client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import assume
from hypothesis import strategies as st

from keyfold.keys import KeyTemplate
from keyfold.policy import (
    EVERYTHING,
    Area,
    IndexEntry,
    IndexLayout,
    Layout,
    Right,
    Role,
    find_role_problems,
)
from keyfold.policy._overlaps import find_overlaps

TABLE = "Things"
TENANT = "user"
OWN, FOREIGN = "ada", "bob"

TYPES = {
    TENANT: str,
    "cart": str,
    "kind": Literal["big", "small"],
    "no": int,
    "team": str,
    "x": str,
    "y": str,
}
# Templates whose keys never collide; some look alike, or contain wildcards of policies.
TEMPLATES = (
    "U#{user}",
    "U#{user}#O",
    "U#{user}#C#{cart}",
    "S#{kind}#{user}",
    "T#{team}",
    "T#{team}#{no:02}",
    "W*{user}?${{x}}",
    "K#{kind}",
    "N#{no:03}",
    "FIXED",
    "P/{x}/{y}",
    "{x}@{y}",
)
# Sort keys by which tenants that share a partition are told apart, and others.
SORT_TEMPLATES = ((), ("/{user}/{x}",), ("/{x}/{user}",), ("{user}",), ("{x}",))
INDEX_TEMPLATES = ("O#{user}", "O#{user}#{kind}", "O#{user}#{no:02}", "C#{cart}", "{x}", None)
NAMES = ("a", "b", "c", "owner", "where")

OPERATIONS = (
    *("BatchGetItem", "BatchWriteItem", "DeleteItem", "DescribeLimits", "DescribeTimeToLive"),
    *("GetItem", "ListTables", "PutItem", "Query", "Query", "Scan"),
    *("TransactGetItems", "TransactWriteItems", "UpdateItem"),
)

TEXTS = st.sampled_from([OWN, FOREIGN, "", "big", "01", "001", "1", "a#b", "a/b", "*", "x", "é"])
SORT_KEYS = st.sampled_from(
    [{"S": text} for text in ("ada", "bob", "/ada/x", "/bob/x", "/x/ada", "/x/bob", "/ada/", "/a")]
)
SORT_CONDITIONS = ("sk = :s", "begins_with(sk, :s)", "sk BETWEEN :s AND :s", "sk > :s")


def template_of(text: str) -> KeyTemplate:
    return KeyTemplate.from_types(text, TYPES, owner="Thing")


@st.composite
def areas(draw: st.DrawFn) -> dict[str, Area]:
    chosen = draw(st.lists(st.sampled_from(TEMPLATES), min_size=1, max_size=4, unique=True))
    made: dict[str, Area] = {}
    for place, text in enumerate(chosen):
        names = draw(st.sets(st.sampled_from(NAMES)))
        templates = (template_of(text),)
        entities = (f"E{place}",) if draw(st.booleans()) else (f"E{place}", f"F{place}")
        made[f"area{place}"] = Area(
            f"area{place}",
            templates,
            entities,
            frozenset({"pk", "sk", *names}),
            is_shard=True,
            unique=draw(st.sampled_from([frozenset[str](), frozenset({"a"} & names)])),
            sort_templates=tuple(map(template_of, draw(st.sampled_from(SORT_TEMPLATES)))),
        )
    if draw(st.integers(0, 4)) == 0:
        made["Other"] = Area("Other", (), ("Other",), frozenset({"pk", "sk", "a"}))
    return made


@st.composite
def index_entries(draw: st.DrawFn, made: dict[str, Area], width: int) -> tuple[IndexEntry, ...]:
    listed: list[IndexEntry] = []
    for area in made.values():
        if draw(st.booleans()):
            texts = [draw(st.sampled_from(INDEX_TEMPLATES)) for _ in range(width)]
            templates = tuple(None if text is None else template_of(text) for text in texts)
            listed.append(IndexEntry(area.entities[0], area.name, templates))
    return tuple(listed)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    made = draw(areas())
    indexes = {
        "ByOwner": IndexLayout("ByOwner", ("owner",), False, draw(index_entries(made, 1)), ("c",)),
        "ByPlace": IndexLayout("ByPlace", ("owner", "where"), False, draw(index_entries(made, 2))),
        "Reverse": IndexLayout("Reverse", ("sk",), False, draw(index_entries(made, 1))),
        "Local": IndexLayout("Local", ("pk",), True, (), ("b",)),
    }
    chosen = draw(st.sets(st.sampled_from(sorted(indexes))))
    named: list[dict[str, frozenset[str]]] = [{}, {"E0": frozenset({"E0.a"})}]
    unique = draw(st.sampled_from(named))
    layout = Layout(
        TABLE, ("pk", "sk"), made, {name: indexes[name] for name in sorted(chosen)}, unique
    )
    assume(not find_overlaps(layout, ()))
    return layout


RIGHTS = st.sampled_from(
    [
        Right(0),
        Right.GET | Right.QUERY,
        Right.GET | Right.QUERY | Right.CREATE | Right.UPDATE | Right.DELETE,
        Right.CREATE | Right.UPDATE | Right.DELETE,
        Right.CREATE | Right.UPDATE,
    ]
) | st.integers(0, 31).map(Right)


@st.composite
def roles(draw: st.DrawFn, layout: Layout) -> Role:
    tenant = TENANT if draw(st.booleans()) and TENANT in layout.find_parts() else None
    names = [*layout.areas]
    if tenant is None and draw(st.booleans()):
        names.append(EVERYTHING)
    can = {name: draw(RIGHTS) for name in names if draw(st.integers(0, 3))}
    fields = st.dictionaries(
        st.sampled_from(sorted(layout.areas)), st.sets(st.sampled_from(NAMES), max_size=2)
    )
    hidden, fixed = (
        {
            name: attributes & layout.areas[name].attributes
            for name, attributes in draw(fields).items()
            if draw(st.booleans())
        }
        for _ in range(2)
    )
    operations = draw(st.sets(st.sampled_from(["DescribeTimeToLive", "DescribeLimits"])))
    role = Role(
        "somebody", tenant=tenant, can=can, hidden=hidden, fixed=fixed, operations=operations
    )
    assume(not find_role_problems(layout, role))
    return role


@dataclass(frozen=True)
class Requests:
    """Draws requests on a table as any client could send them."""

    layout: Layout

    @property
    def names(self) -> list[str]:
        """Attributes that items may have besides their keys, and one that no entity declares."""
        declared = {name for area in self.layout.areas.values() for name in area.attributes}
        indexed = {name for index in self.layout.indexes.values() for name in index.partition}
        return sorted((declared | indexed | {"a", "undeclared"}) - set(self.layout.key))

    def partition(self, data: st.DataObject) -> dict[str, str]:
        """Draw a partition: of an area, nearly of one, or of none."""
        templates = [template for area in self.layout.areas.values() for template in area.templates]
        odd = st.sampled_from(["keyfold#unique#E0#a#x", "U#", "U#ada#O#O", "FIXED2", "zz", "@"])
        return {"S": self._draw_text(data, templates, odd)}

    def _draw_text(
        self, data: st.DataObject, templates: list[KeyTemplate], odd: st.SearchStrategy[str]
    ) -> str:
        if not templates or data.draw(st.integers(0, 5)) == 0:
            return data.draw(odd)
        template = data.draw(st.sampled_from(templates))
        text = ""
        for part in template.parts:
            # Mostly valid values, most of them the principal's own.
            fitting = {TENANT: OWN, "kind": "big", "no": "001" if "03" in template.text else "01"}
            likely = st.just(fitting.get(part.name, "x"))
            text += part.before + data.draw(likely | likely | TEXTS)
        return text + template.tail

    def index_partition(self, data: st.DataObject, index: IndexLayout, place: int) -> Any:
        templates = [
            template for entry in index.entries if (template := entry.templates[place]) is not None
        ]
        return {"S": self._draw_text(data, templates, st.sampled_from(["O#ada", "O#bob", "x"]))}

    def key(self, data: st.DataObject) -> dict[str, Any]:
        return {"pk": self.partition(data), "sk": self._sort(data)}

    def _sort(self, data: st.DataObject) -> dict[str, str]:
        return data.draw(SORT_KEYS) if data.draw(st.booleans()) else self.value(data, "sk")

    def value(self, data: st.DataObject, name: str) -> dict[str, str]:
        for index in self.layout.indexes.values():
            if name in index.partition and data.draw(st.booleans()):
                return self.index_partition(data, index, index.partition.index(name))
        return {"S": "v"}

    def item(self, data: st.DataObject) -> dict[str, Any]:
        names = data.draw(st.sets(st.sampled_from(self.names), max_size=3))
        return {**self.key(data), **{name: self.value(data, name) for name in sorted(names)}}

    def condition(self, data: st.DataObject) -> dict[str, Any]:
        given = data.draw(
            st.sampled_from(
                [
                    {},
                    {"ConditionExpression": "attribute_not_exists(pk)"},
                    {"ConditionExpression": "attribute_exists(pk)"},
                    {"ConditionExpression": "attribute_exists(a) OR attribute_exists(b)"},
                ]
            )
        )
        if data.draw(st.integers(0, 3)) == 0:
            given = {**given, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        return given

    def reading(self, data: st.DataObject) -> dict[str, Any]:
        name = data.draw(st.sampled_from(self.names))
        return data.draw(
            st.sampled_from(
                [
                    {},
                    {"ProjectionExpression": "pk, #n", "ExpressionAttributeNames": {"#n": name}},
                    {"ProjectionExpression": "#n.b", "ExpressionAttributeNames": {"#n": name}},
                    {"AttributesToGet": ["sk"]},
                ]
            )
        )

    def update(self, data: st.DataObject) -> dict[str, Any]:
        name = data.draw(st.sampled_from(self.names))
        return data.draw(
            st.sampled_from(
                [
                    {
                        "UpdateExpression": "SET #n = :v",
                        "ExpressionAttributeNames": {"#n": name},
                        "ExpressionAttributeValues": {":v": self.value(data, name)},
                    },
                    {"UpdateExpression": "REMOVE #n", "ExpressionAttributeNames": {"#n": name}},
                    {
                        "UpdateExpression": "SET #n = if_not_exists(a, :v)",
                        "ExpressionAttributeNames": {"#n": name},
                        "ExpressionAttributeValues": {":v": {"S": "v"}},
                    },
                ]
            )
        )

    def query(self, data: st.DataObject) -> dict[str, Any]:
        index = data.draw(st.none() | st.sampled_from([*self.layout.indexes.values(), None]))
        names = ("pk",) if index is None else index.partition
        values: dict[str, Any] = {}
        for place in range(len(names)):
            values[f":v{place}"] = (
                self.partition(data)
                if index is None or index.is_local
                else self.index_partition(data, index, place)
            )
        terms = [f"#p{place} = :v{place}" for place in range(len(names))]
        placeholders = {f"#p{place}": name for place, name in enumerate(names)}
        if index is None and data.draw(st.booleans()):
            terms.append(data.draw(st.sampled_from(SORT_CONDITIONS)))
            values[":s"] = data.draw(SORT_KEYS)
        page = self.page(data)
        return {
            **page,
            "TableName": self.layout.table,
            "KeyConditionExpression": " AND ".join(terms),
            "ExpressionAttributeValues": values,
            "ExpressionAttributeNames": {
                **page.get("ExpressionAttributeNames", {}),
                **placeholders,
            },
            **({} if index is None else {"IndexName": index.name}),
        }

    def page(self, data: st.DataObject) -> dict[str, Any]:
        name = data.draw(st.sampled_from(self.names))
        placeholders = {"ExpressionAttributeNames": {"#n": name}}
        return data.draw(
            st.sampled_from(
                [
                    {},
                    {"ProjectionExpression": "pk, #n", **placeholders},
                    {"Select": "COUNT"},
                    {"Select": "COUNT", "FilterExpression": "attribute_exists(#n)", **placeholders},
                    {"FilterExpression": "attribute_exists(#n)", **placeholders},
                ]
            )
        )

    def scan(self, data: st.DataObject) -> dict[str, Any]:
        index = data.draw(st.sampled_from([None, *self.layout.indexes]))
        named = {} if index is None else {"IndexName": index}
        return {"TableName": self.layout.table, **named, **self.page(data)}

    def member(self, data: st.DataObject) -> dict[str, Any]:
        place = {"TableName": self.layout.table, "Key": self.key(data)}
        kind = data.draw(st.sampled_from(["Put", "Update", "Delete", "ConditionCheck"]))
        match kind:
            case "Put":
                body = {
                    "TableName": self.layout.table,
                    "Item": self.item(data),
                    **self.condition(data),
                }
            case "Update":
                body = {**place, **self.update(data), **self.condition(data)}
            case "Delete":
                body = {**place, **self.condition(data)}
            case _:
                condition = {"ConditionExpression": "attribute_exists(a)", **self.condition(data)}
                body = {**place, **condition}
        return {kind: body}

    def draw(self, data: st.DataObject) -> tuple[str, dict[str, Any]]:
        """Draw an operation and its request."""
        operation = data.draw(st.sampled_from(OPERATIONS))
        place = {"TableName": data.draw(st.sampled_from([self.layout.table] * 9 + ["Another"]))}
        count = range(data.draw(st.integers(1, 3)))
        returning = {}
        if operation in ("PutItem", "DeleteItem", "UpdateItem"):
            returning = data.draw(st.sampled_from([{}, {"ReturnValues": "ALL_OLD"}]))
        match operation:
            case "GetItem":
                request = {**place, "Key": self.key(data), **self.reading(data)}
            case "PutItem":
                request = {**place, "Item": self.item(data), **self.condition(data)}
            case "UpdateItem":
                request = {
                    **place,
                    "Key": self.key(data),
                    **self.update(data),
                    **self.condition(data),
                }
            case "DeleteItem":
                request = {**place, "Key": self.key(data), **self.condition(data)}
            case "Query":
                request = self.query(data)
            case "Scan":
                request = self.scan(data)
            case "BatchGetItem":
                keys = [self.key(data) for _ in count]
                request = {
                    "RequestItems": {self.layout.table: {"Keys": keys, **self.reading(data)}}
                }
            case "BatchWriteItem":
                writes = [
                    {"PutRequest": {"Item": self.item(data)}}
                    if data.draw(st.booleans())
                    else {"DeleteRequest": {"Key": self.key(data)}}
                    for _ in count
                ]
                request = {"RequestItems": {self.layout.table: writes}}
            case "TransactWriteItems":
                request = {"TransactItems": [self.member(data) for _ in count]}
            case "TransactGetItems":
                gets = [
                    {
                        "Get": {
                            "TableName": self.layout.table,
                            "Key": self.key(data),
                            **self.reading(data),
                        }
                    }
                    for _ in count
                ]
                request = {"TransactItems": gets}
            case "DescribeTimeToLive":
                request = dict(place)
            case _:
                request = {}
        return operation, {**request, **returning}
