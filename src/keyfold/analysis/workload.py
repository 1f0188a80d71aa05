"""Workloads: how often patterns are called, and how many items of which size entities have.

A workload is what the table's declaration says, with what a TOML file says in its place:

    table = "Market"

    [patterns."Get user profile"]
    rate = "40/s"
    peak = "200/s"
    skew = 1.1
    keys = "200k"
    arguments = { user = "rabinovich" }

    [entities.Order]
    items = "2M"
    growth = "50k/month"
    bytes = 600
    per_partition = 12

    [settings]
    point_in_time_recovery = true
    backups = 2
    replicas = 1
    stream_consumers = 1

`skew` is the exponent of the Zipf distribution of the keys; 0 stands for keys that are used alike.
`keys` is how many different partition keys the calls use.
A file `workload.toml` beside the module that declares the entities is read without being named.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from keyfold.errors import WorkloadInvalid
from keyfold.model import Table
from keyfold.model._expected_use import CallRate, Volume, parse_count, parse_volume

_FILE = "workload.toml"
_PATTERN_KEYS = ("rate", "peak", "skew", "keys", "arguments")
_SWITCHES = ("point_in_time_recovery", "kinesis")
_VOLUME_KEYS = ("items", "growth", "bytes", "per_partition")


@dataclass(frozen=True, slots=True)
class PatternUse:
    """How a pattern is used; None for what is not known."""

    rate: CallRate | None = None
    peak: CallRate | None = None
    skew: float | None = None
    # How many different keys its calls use.
    keys: float | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class CostSettings:
    """What a table has besides its items, which costs something.

    `kinesis` says whether its changes go to a Kinesis data stream. `backups` is how many full backups
    are kept, `exports` and `restores` how often the whole table is exported to S3 or restored in a
    month, `replicas` how many other regions have the table, and `stream_consumers` how many programs
    read its stream by themselves. Vectors are gigabytes in a month: those that are written to
    vector indexes, and those that searches go through.
    """

    point_in_time_recovery: bool = False
    kinesis: bool = False
    backups: float = 0
    exports: float = 0
    restores: float = 0
    replicas: float = 0
    stream_consumers: float = 0
    vectors_written_gb: float = 0
    vectors_searched_gb: float = 0


@dataclass(frozen=True, slots=True)
class Workload:
    """What is known about the use of a table: by pattern, and by entity."""

    patterns: Mapping[str, PatternUse]
    volumes: Mapping[str, Volume]
    settings: CostSettings = CostSettings()
    # The file that it was read from, if any.
    source: str | None = None

    @property
    def has_rates(self) -> bool:
        """Whether the rate of any pattern is known."""
        return any(use.rate is not None for use in self.patterns.values())


def read_workload(table: Table, file: Path | None = None) -> Workload:
    """Return the workload of a table; raises WorkloadInvalid.

    It is read from the declaration and from the file, by default `workload.toml` beside the
    declaration if there is one for this table.
    """
    patterns = {
        name: PatternUse(pattern.rate, pattern.peak) for name, pattern in table.patterns.items()
    }
    volumes = {name: table.volumes.get(name, Volume()) for name in table.entities}
    given = _find_file(table) if file is None else file
    if given is None:
        return Workload(patterns, volumes)
    document = _load(given)
    if file is None and document.get("table") != table.name:
        return Workload(patterns, volumes)
    reader = _WorkloadReader(str(given))
    reader.check_names("", document, ("table", "patterns", "entities", "settings"))
    for name, use in reader.tables(document, "patterns", patterns).items():
        patterns[name] = reader.read_use(name, use, patterns[name])
    for name, volume in reader.tables(document, "entities", volumes).items():
        volumes[name] = reader.read_volume(name, volume, volumes[name])
    return Workload(patterns, volumes, reader.read_settings(document), str(given))


def find_same_partitions(table: Table, model: Table) -> frozenset[str]:
    """Return the entities that two tables partition by the same fields."""
    return frozenset(
        name
        for name, schema in table.entities.items()
        if name in model.entities
        and set(schema.partition.fields) == set(model.entities[name].partition.fields)
    )


def use_alike(own: Workload, model: Workload, *, same_partitions: Container[str] = ()) -> Workload:
    """Return the workload of a table that is used as another one is, to compare the two.

    How often things happen and how many there are does not depend on the design: for patterns and
    entities of the same name, rates, peaks, skews, numbers of items and growth are those of
    `model`, and so are the settings. Sizes, items of a partition and arguments are a table's own,
    where it has any. If it does not say how many items are in a partition, entities of
    `same_partitions` have as many as in `model`.
    """
    patterns = {
        name: _use_alike(use, model.patterns[name]) if name in model.patterns else use
        for name, use in own.patterns.items()
    }
    volumes = {
        name: _count_alike(volume, model.volumes[name], name in same_partitions)
        if name in model.volumes
        else volume
        for name, volume in own.volumes.items()
    }
    return Workload(patterns, volumes, model.settings, own.source)


def _use_alike(own: PatternUse, model: PatternUse) -> PatternUse:
    if model.rate is None:
        return own
    return replace(model, arguments={**model.arguments, **own.arguments})


def _count_alike(own: Volume, model: Volume, is_partitioned_alike: bool) -> Volume:  # noqa: FBT001 - passed on
    is_unknown = own.per_partition is None and is_partitioned_alike
    return Volume(
        own.items if model.items is None else model.items,
        own.growth if model.growth is None else model.growth,
        model.bytes if own.bytes is None else own.bytes,
        model.per_partition if is_unknown else own.per_partition,
    )


def _find_file(table: Table) -> Path | None:
    for schema in table.entities.values():
        try:
            source = inspect.getsourcefile(schema.entity)
        except TypeError:
            continue  # an entity that is declared in an interactive session has no file
        if source is not None and (file := Path(source).with_name(_FILE)).is_file():
            return file
    return None


def _load(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise WorkloadInvalid(str(file), f"it cannot be read: {reason}", "") from None
    except ValueError as error:
        raise WorkloadInvalid(str(file), f"it is not TOML: {error}", "") from None


@dataclass(frozen=True, slots=True)
class _WorkloadReader:
    """Reads the parts of a workload file, and says where a fault is."""

    file: str

    def tables(
        self, document: Mapping[str, Any], section: str, known: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Return the tables of a section, by name."""
        found = document.get(section, {})
        if not isinstance(found, dict):
            raise self._fault(section, f"got {found!r:.80}", "Write a TOML table.")
        sections = cast(dict[str, Any], found)
        self.check_names(section, sections, tuple(known))
        for name, each in sections.items():
            if not isinstance(each, dict):
                advice = f"Write a TOML table, [{section}.{name!r}]."
                raise self._fault(f"{section}.{name}", f"got {each!r:.80}", advice)
        return sections

    def check_names(self, where: str, found: Mapping[str, Any], known: tuple[str, ...]) -> None:
        """Raise WorkloadInvalid for a name that is not known, with the nearest one that is."""
        for name in found:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                advice = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(known)}."
                raise self._fault(where, f"{name!r} is unknown", advice)

    def read_use(self, name: str, given: Mapping[str, Any], declared: PatternUse) -> PatternUse:
        """Return the use of a pattern; what is not given is as declared."""
        where = f"patterns.{name}"
        self.check_names(where, given, _PATTERN_KEYS)
        try:
            rate = CallRate.parse(given["rate"]) if "rate" in given else declared.rate
            peak = CallRate.parse(given["peak"]) if "peak" in given else declared.peak
            skew = parse_count(given["skew"]) if "skew" in given else declared.skew
            keys = parse_count(given["keys"]) if "keys" in given else declared.keys
        except (TypeError, ValueError) as error:
            raise self._fault(where, str(error), "") from None
        if rate is not None and peak is not None and peak.per_second < rate.per_second:
            fact = f"its peak ({peak.text}) is lower than its rate ({rate.text})"
            raise self._fault(where, fact, "")
        return PatternUse(rate, peak, skew, keys, given.get("arguments", {}))

    def read_volume(self, name: str, given: Mapping[str, Any], declared: Volume) -> Volume:
        """Return the volume of an entity; what is not given is as declared."""
        where = f"entities.{name}"
        self.check_names(where, given, _VOLUME_KEYS)
        try:
            read = parse_volume(**given)
        except (TypeError, ValueError) as error:
            raise self._fault(where, str(error), "") from None
        return replace(declared, **{key: getattr(read, key) for key in given})

    def read_settings(self, document: Mapping[str, Any]) -> CostSettings:
        """Return the settings that cost something."""
        given: Any = document.get("settings", {})
        if not isinstance(given, dict):
            raise self._fault("settings", f"got {given!r:.80}", "Write a TOML table.")
        found = cast(dict[str, Any], given)
        self.check_names("settings", found, tuple(each.name for each in fields(CostSettings)))
        for name in _SWITCHES:
            if not isinstance(found.get(name, False), bool):
                raise self._fault(
                    "settings", f"{name} is {found[name]!r:.80}", "Write true or false."
                )
        try:
            settings: dict[str, Any] = {
                name: value if name in _SWITCHES else parse_count(value)
                for name, value in found.items()
            }
        except (TypeError, ValueError) as error:
            raise self._fault("settings", str(error), "") from None
        return CostSettings(**settings)

    def _fault(self, where: str, fact: str, advice: str) -> WorkloadInvalid:
        subject = f"{self.file}, {where}" if where else self.file
        return WorkloadInvalid(subject, fact, advice)
