"""Designs for the rules about how a table is run."""

from typing import Any

from keyfold import (
    Change,
    Entity,
    Index,
    Key,
    OnDemand,
    Provisioned,
    Put,
    Request,
    Table,
    Version,
    part,
)
from keyfold.analysis.workload import CostSettings
from keyfold.model import Billing
from keyfold.requests import Chain
from tests.unit.analysis.lint.cases import RuleCases

# ruff: noqa: I002 - annotations name classes of functions, so they are evaluated where they stand
# Patterns are registered where they are declared.
# pyright: reportUnusedFunction=false

cases = RuleCases()


@cases.finds("O01", "table Notes")
def can_be_deleted() -> Table:
    return Table("Notes", key=Key("pk"))


@cases.passes("O01")
def is_protected() -> Table:
    return Table("Notes", key=Key("pk"), deletion_protection=True)


@cases.finds("O02", "table Notes")
def has_no_recovery() -> Table:
    return Table("Notes", key=Key("pk"))


@cases.passes("O02", settings=CostSettings(point_in_time_recovery=True))
def has_recovery() -> Table:
    return Table("Notes", key=Key("pk"))


def _orders(*, order_rate: str) -> Table:
    table = Table("Orders", key=Key("pk"), stream="new and old")

    class Order(Entity, table=table, key="ORDER#{order}"):
        order: str

    class Visit(Entity, table=table, key="VISIT#{visit}"):
        visit: str

    @table.on_change(Order)
    def bill(change: Change[Order]) -> None:
        pass

    @table.pattern("Place order", rate=order_rate)
    def place(order: Order) -> Put[Order]:
        return order.create()

    @table.pattern("Record visit", rate="100/s")
    def record(visit: Visit) -> Put[Visit]:
        return visit.put()

    return table


@cases.finds("O03", "table Orders")
def follows_few_of_its_changes() -> Table:
    return _orders(order_rate="1/s")


@cases.passes("O03")
def follows_half_of_its_changes() -> Table:
    return _orders(order_rate="100/s")


@cases.finds("O04", "table Notes", settings=CostSettings(stream_consumers=3))
def has_three_consumers() -> Table:
    return Table("Notes", key=Key("pk"), stream="new and old")


@cases.passes("O04", settings=CostSettings(stream_consumers=2))
def has_two_consumers() -> Table:
    return Table("Notes", key=Key("pk"), stream="new and old")


@cases.finds("O05", "table Notes")
def streams_one_image() -> Table:
    return Table("Notes", key=Key("pk"), stream="new")


@cases.passes("O05")
def streams_both_images() -> Table:
    return Table("Notes", key=Key("pk"), stream="new and old")


@cases.passes("O05")
def has_no_stream() -> Table:
    return Table("Notes", key=Key("pk"))


def _scores(how: str) -> Table:
    table = Table("Scores", key=Key("pk"))

    class Score(Entity, table=table, key="PLAYER#{player}"):
        player: str = part()
        points: int = 0
        version: Version = 0

    def win(found: Score) -> Request[Any]:
        changed = Score.update(player=found.player)
        raised = changed.set(Score.f.points, found.points + 1)
        match how:
            case "condition":
                return raised.where(Score.f.points.eq(found.points))
            case "version":
                return raised.knowing(version=found.version)
            case "increment":
                return changed.increment(Score.f.points)
            case _:
                return raised

    @table.pattern("Win")
    def read_and_win(player: str) -> Chain[Any]:
        return Score.get(player=player).then(win)

    return table


@cases.finds("O06", "pattern 'Win'")
def writes_a_sum_of_what_it_read() -> Table:
    return _scores("plain")


@cases.passes("O06")
def writes_a_sum_under_a_condition() -> Table:
    return _scores("condition")


@cases.passes("O06")
def writes_a_sum_of_a_known_version() -> Table:
    return _scores("version")


@cases.passes("O06")
def counts_in_the_database() -> Table:
    return _scores("increment")


@cases.finds("O06", "pattern 'Win'", settings=CostSettings(replicas=1))
def counts_in_several_regions() -> Table:
    return _scores("increment")


def _limit(billing: Billing, *indexes: Index) -> Table:
    return Table("Notes", key=Key("pk"), indexes=indexes, billing=billing)


@cases.finds("O10", "table Notes")
def has_a_maximum_of_reads_alone() -> Table:
    return _limit(OnDemand(max_read=10))


@cases.finds("O10", "index ByDay")
def has_an_index_without_a_maximum() -> Table:
    by_day = Index("ByDay", key=Key("day"))
    return _limit(OnDemand(10, 10, indexes={"ByDay": OnDemand(max_read=10)}), by_day)


@cases.passes("O10")
def has_provisioned_capacity() -> Table:
    return _limit(Provisioned(read=1, write=1))


@cases.passes("O10")
def has_a_local_index_with_the_maximums_of_its_table() -> Table:
    return Table(
        "Notes",
        key=Key("pk", "sk"),
        indexes=[Index("ByDay", key=Key("pk", "day"), local=True)],
        billing=OnDemand(10, 10, indexes={"ByDay": OnDemand()}),
    )
