"""What a steady load asks of partitions, to tell the loads that need not be simulated."""

from __future__ import annotations

from collections.abc import Mapping

from keyfold.capacity import (
    ACCOUNT_UNITS,
    PARTITION_UNITS,
    ResourceLimits,
    ThroughputModel,
    Touch,
    UnitKind,
)

# A load that asks for less of everything is not simulated second by second.
_QUIET_SHARE = 0.7


class SteadyDemand:
    """What a steady load asks of each partition, and of each table or index, in a second."""

    def __init__(self, model: ThroughputModel) -> None:
        self._model = model
        # The units a second, and the largest request, by partition; 0 is all of them.
        self._rates: dict[tuple[str, UnitKind, int], float] = {}
        self._largest: dict[tuple[str, UnitKind, int], float] = {}

    def add(self, kind: UnitKind, touch: Touch, rate: float) -> None:
        """Add the units that requests take from a partition, at a rate per second."""
        ranges = self._model.partitions(touch.name)
        if touch.place is None:
            parts = [(each.number, touch.units / len(ranges)) for each in ranges]
        else:
            held = self._model.partition(touch.name, touch.place)
            parts = [] if held is None else [(held.number, touch.units)]
        for number, units in (*parts, (0, touch.units)):
            key = touch.name, kind, number
            self._rates[key] = self._rates.get(key, 0.0) + units * rate
            self._largest[key] = max(self._largest.get(key, 0.0), units)

    def is_quiet(self, limits: Mapping[str, ResourceLimits]) -> bool:
        """Return whether nothing can be refused, and no partition gets hot."""
        for (name, kind, number), rate in self._rates.items():
            most = PARTITION_UNITS[kind]
            if not number:
                units = limits[name].units
                most = ACCOUNT_UNITS if units is None else units[kind]
                most = min(most, limits[name].maximums.get(kind, most))
            if rate + self._largest[name, kind, number] > _QUIET_SHARE * most:
                return False
        return True
