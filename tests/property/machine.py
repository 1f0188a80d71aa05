"""The state machine: an engine and a plain table that get the same writes and reads."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.property.reading_machine import ReadingMachine
from tests.property.table_requests import add_index, remove_index
from tests.property.writing_machine import GRACE_SECONDS, TABLE


class EngineMachine(ReadingMachine):
    """Also changes the table: its indexes, its expiry, the time, and the engines on it."""

    def _is_settled(self) -> bool:
        return "CREATING" not in self.statuses().values()

    @precondition(_is_settled)
    @rule(data=st.data())
    def add_index(self, data: st.DataObject) -> None:
        new = [plan for plan in self.plans if plan.name not in self.table.indexes]
        if new:
            plan = data.draw(st.sampled_from(new))
            self.run(data, "UpdateTable", add_index(TABLE, plan))
            self.table.indexes[plan.name] = plan

    @precondition(_is_settled)
    @rule(data=st.data())
    def remove_index(self, data: st.DataObject) -> None:
        removable = [plan for plan in self.table.indexes.values() if plan.is_global]
        if removable:
            plan = data.draw(st.sampled_from(removable))
            self.run(data, "UpdateTable", remove_index(TABLE, plan.name))
            del self.table.indexes[plan.name]

    @rule(data=st.data())
    def switch_expiry(self, data: st.DataObject) -> None:
        enabled = self.table.ttl_attribute is None
        specification = {"AttributeName": "ttl", "Enabled": enabled}
        request = {"TableName": TABLE, "TimeToLiveSpecification": specification}
        self.run(data, "UpdateTimeToLive", request)
        self.table.ttl_attribute = "ttl" if enabled else None

    @rule(data=st.data(), steps=st.integers(0, 20))
    def let_time_pass(self, data: st.DataObject, steps: int) -> None:
        # Expiry times are multiples of ten seconds: steps of five hit them and the times between.
        self.now += 5 * steps
        engine = data.draw(st.sampled_from(self.engines))
        assert engine.run_upkeep() == self.table.expire(self.now, GRACE_SECONDS)
        assert self._is_settled()

    @rule(data=st.data())
    def describe(self, data: st.DataObject) -> None:
        described = self.run(data, "DescribeTable", {"TableName": TABLE})["Table"]
        assert described["ItemCount"] == len(self.table.items)
        assert described["TableSizeBytes"] == self.table.size()
        for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
            for index in described.get(kind, []):
                if index.get("IndexStatus", "ACTIVE") == "ACTIVE":
                    held = self.table.scan(self.table.indexes[index["IndexName"]])
                    assert index["ItemCount"] == len(held)

    @precondition(lambda self: self.engines_on_file)
    @rule(place=st.integers(0, 1))
    def reopen(self, place: int) -> None:
        self.engines[place].close()
        self.engines[place] = self.open_engine()
