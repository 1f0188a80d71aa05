"""A checked engine never refuses a store, and refuses what `load --table` rejects."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import invariant, run_state_machine_as_test

from keyfold.api import ProposedWrite
from keyfold.engine import Engine
from keyfold.errors import ValidationException
from keyfold.store import make_write_checks
from keyfold.transfer import Options, TableLocation, load_table
from keyfold.values import Item, normalise_item
from tests.examples import examples
from tests.property.promise_programs import Spec, declare
from tests.property.test_promises import KEYS, PromiseMachine


class CheckedMachine(PromiseMachine):
    """The same programs on an engine that checks writes by the newest declaration."""

    def _open_engine(self) -> Engine:
        self.refusals: list[str] = getattr(self, "refusals", [])
        checks = {"Members": self._check}
        return Engine.open(":memory:", upkeep_seconds=None, write_checks=checks)

    def _check(self, write: ProposedWrite) -> str | None:
        table = self.declared["renamed" if self.is_renamed else "newer"][0]
        check = make_write_checks([table], clock=self.clock)["Members"]
        fault = check(write)
        if fault is not None:
            self.refusals.append(fault)
        return fault

    @invariant()
    def nothing_is_refused(self) -> None:
        assert self.refusals == []


def test_a_store_is_never_refused() -> None:
    run_state_machine_as_test(CheckedMachine, settings=examples(20, 1_000, stateful_step_count=20))


# Items that do not fit.

SPEC = Spec(
    has_type=True,
    has_version=True,
    has_times=True,
    has_label=True,
    unique=frozenset(),
    lowest_age=18,
    most_tags=3,
    has_choice=True,
)
TABLE, MEMBER = declare(SPEC, "newer")
VALUES: list[Any] = [
    *({"S": text} for text in ("", "x", "9", "MEMBER#ada", "CITY#rome", "018#ada", "Member")),
    *({"N": number} for number in ("0", "18", "18.5", "300")),
    *({"B": "AA=="}, {"BOOL": True}, {"NULL": True}, {"L": []}, {"M": {}}, {"SS": ["x", "y"]}),
]
ATTRIBUTES = sorted({*MEMBER.keyfold_schema().declared_names, "pk", "sk", "other"} - {"created_at"})
# A value for an attribute, or None to remove it.
mutations: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(ATTRIBUTES), st.none() | st.sampled_from(VALUES), max_size=2
)


@st.composite
def mutants(draw: st.DrawFn) -> Item:
    """Draw the item of a member, with up to two attributes changed or removed."""
    team, name = draw(st.sampled_from(KEYS))
    member = MEMBER(
        team=team,
        name=name,
        handle="h",
        age=draw(st.sampled_from([18, 120])),
        city=draw(st.sampled_from([None, "rome"])),
        tags=draw(st.sets(st.sampled_from(["x", "y"]))),
    )
    item, _ = normalise_item(MEMBER.keyfold_schema().encode(member))
    changed = {**item, **draw(mutations)}
    return {name: value for name, value in changed.items() if value is not None}


@examples(60)
@given(st.lists(mutants(), min_size=1, max_size=6))
def test_what_a_load_rejects_is_refused(found: list[Item]) -> None:
    checks = make_write_checks([TABLE])
    with (
        Engine.open(":memory:", upkeep_seconds=None, write_checks=checks) as checked,
        Engine.open(":memory:", upkeep_seconds=None) as plain,
        TemporaryDirectory() as folder,
    ):
        for engine in (checked, plain):
            engine.execute("CreateTable", TABLE.to_dynamodb())
        refused = [item for item in found if not is_accepted(checked, item)]
        file, rejects = Path(folder) / "items.jsonl", Path(folder) / "rejects"
        file.write_text("\n".join(json.dumps({"Item": item}) for item in found))
        summary = load_table(
            file,
            TableLocation(plain, "plain", "Members"),
            Options(rejects=rejects, segments=1),
            declared=TABLE,
        )
        lines = rejects.read_text().splitlines() if rejects.exists() else []
        rejected = [json.loads(line)["Item"] for line in lines]
        assert (summary.rejects, rejected) == (len(refused), refused)


def is_accepted(engine: Engine, item: Item) -> bool:
    """Put an item as JSON has it, with and without a condition; both must come to the same."""
    results: set[bool] = set()
    for more in ({}, {"ReturnValues": "ALL_OLD"}):
        body = json.dumps({"TableName": "Members", "Item": item, **more}).encode()
        try:
            engine.execute_json("PutItem", body)
            results.add(True)
        except ValidationException:
            results.add(False)
    (result,) = results
    return result
