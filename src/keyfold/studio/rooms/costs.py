"""The room Cost and heat: what a workload costs, which keys it makes hot, and recorded traffic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from keyfold.analysis import change_workload
from keyfold.analysis.cost import Prices, parse_prices, read_prices, report_cost
from keyfold.analysis.heat import replay_records, simulate_workload
from keyfold.engine import TrafficRecord, read_traffic
from keyfold.engine.insights.traffic import parse_traffic
from keyfold.errors import TrafficInvalid
from keyfold.studio._actions import Action, StudioCall
from keyfold.studio._problems import StudioProblem
from keyfold.studio.rooms._profiles import describe_database, find_profile
from keyfold.studio.rooms._shown_costs import show_cost
from keyfold.studio.rooms._shown_heat import show_heat
from keyfold.studio.rooms._traffic_maps import MOST_SECONDS, has_keys_of, map_traffic
from keyfold.studio.rooms._uses import read_use

_FACTORS = (1.0, 10.0, 100.0)
_MOST_FACTORS = 4
_LEAST_FACTOR, _MOST_FACTOR = 0.001, 1_000_000
# A minute shows what ten do: the peak lasts for three fifths of it.
_SECONDS, _MOST_SIMULATED = 60, 3_600


def forecast(call: StudioCall) -> dict[str, Any]:
    """Return what the table costs in a month with the workload of the sliders.

    The body has `rates`, `items` and `settings` (see `read_use`), `source` (see `find_profile`), and
    `prices`, the text of a file of prices.
    """
    declared = find_profile(call)
    changed = change_workload(declared, read_use(call.table, declared.workload, call.body))
    shown = show_cost(report_cost(changed, _read_prices(call)), declared)
    shown["database"] = describe_database(call)
    return shown


def simulate(call: StudioCall) -> dict[str, Any]:
    """Return which keys and partitions the workload of the sliders makes hot, at several factors."""
    declared = find_profile(call)
    changed = change_workload(declared, read_use(call.table, declared.workload, call.body))
    report = simulate_workload(
        changed,
        factors=_read_factors(call),
        seconds=call.body.integer("seconds", least=10, most=_MOST_SIMULATED, default=_SECONDS),
        skew=call.body.number("skew", least=0, most=5, default=0),
    )
    return show_heat(call.table, report)


def replay(call: StudioCall) -> dict[str, Any]:
    """Return the heat of recorded traffic: of `text`, or of the file that the server records.

    Without either, return whether a server records traffic here.
    """
    text = call.body.optional_text("text")
    has_server = call.workspace.traffic_file is not None and call.principal is None
    if text is None and not call.body.flag("server"):
        return {"server": has_server}
    name = call.body.optional_text("name") or "the file"
    records = _read_records(call, text, name)
    report = replay_records(call.table, records, name, factors=_read_factors(call))
    shown = show_heat(call.table, report)
    return {"server": has_server, **shown, "map": map_traffic(call.table, records)}


def _read_records(call: StudioCall, text: str | None, name: str) -> list[TrafficRecord]:
    if text is not None:
        lines = (line for line in text.encode().splitlines() if line.strip())
        records = [*parse_traffic(lines, name)]
    else:
        records = [*read_traffic(_find_server_file(call))]
    own = [each for each in records if each.table == call.table.name]
    if own and max(each.at for each in own) - min(each.at for each in own) > MOST_SECONDS:
        fact = f"it is of more than {MOST_SECONDS // 86_400} days"
        raise TrafficInvalid(name, fact, "Cut out the hours that matter.")
    for each in own:
        if not has_keys_of(call.table, each):
            fact = f"the key of a {each.operation} is not one of table {call.table.name}"
            raise TrafficInvalid(name, fact, "Record it again with keyfold serve --record.")
    return own


def _find_server_file(call: StudioCall) -> Path:
    if call.principal is not None:
        # It has the keys of every tenant.
        message = "Recorded traffic has the keys of all tenants. Look at it as administrator."
        raise StudioProblem(403, "costs-administrator-only", message)
    if call.workspace.traffic_file is None:
        message = "No server records its traffic here. Start keyfold serve --studio --record FILE."
        raise StudioProblem(404, "traffic-unknown", message)
    return Path(call.workspace.traffic_file)


def _read_prices(call: StudioCall) -> Prices:
    text = call.body.optional_text("prices")
    return read_prices() if text is None else parse_prices(text, "your prices")


def _read_factors(call: StudioCall) -> list[float]:
    given = call.body.sequence("factors") or [*_FACTORS]
    is_valid = len(given) <= _MOST_FACTORS and all(
        isinstance(each, int | float)
        and not isinstance(each, bool)
        and _LEAST_FACTOR <= each <= _MOST_FACTOR
        for each in given
    )
    if not is_valid:
        message = f"factors has to be up to {_MOST_FACTORS} numbers from 0.001 to 1,000,000."
        raise StudioProblem(400, "request-malformed", message)
    return sorted({float(each) for each in given})


ACTIONS: tuple[Action, ...] = (
    Action("costs/forecast", forecast),
    Action("costs/heat", simulate),
    Action("costs/traffic", replay),
)
