"""What a forecast of costs assumes, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from keyfold.analysis.profiles import TableProfile


def list_assumptions(profile: TableProfile) -> Iterator[str]:
    """Yield what is assumed about a table whose workload does not say it, or cannot."""
    yield from _list_unmeasured(profile)
    settings = profile.workload.settings
    has_vectors = settings.vectors_written_gb or settings.vectors_searched_gb
    left_out = "" if has_vectors else " Vector indexes are not declared, and so not counted either."
    yield (
        "A month has 730 hours. Free tiers, data transfer, imports from S3 and what Kinesis itself "
        "charges are not counted." + left_out
    )
    unset = [name for name in ("backups", "exports", "restores") if not getattr(settings, name)]
    if unset:
        yield f"No {' or '.join(unset)}, since the workload has none under [settings]."
    yield from _assume_calls(profile)
    yield "A put writes a new item, unless the pattern says otherwise."
    if profile.table.ttl is not None:
        yield "Deletions by expiry are free, and expired items are taken to be gone."
    yield from _assume_growth(profile)
    yield from _assume_settings(profile)


def _list_unmeasured(profile: TableProfile) -> Iterator[str]:
    uses = profile.workload.patterns
    names = [
        name
        for name, each in profile.patterns.items()
        if each.problem is not None and uses[name].rate is not None
    ]
    if names:
        fact = f"Not measured, so the month of {profile.table.name} lacks them: {', '.join(names)}."
        yield f"{fact} Give arguments for them in the workload file."


def _assume_calls(profile: TableProfile) -> Iterator[str]:
    uses = profile.workload.patterns
    if not uses:
        yield "The table has no patterns, so only storage is known."
        return
    unknown = [name for name, use in uses.items() if use.rate is None]
    if len(unknown) == len(uses):
        yield (
            "No pattern has a rate, so only units and storage are known. "
            "Declare rates, or name a workload file."
        )
        return
    if unknown:
        yield f"Without a rate, and so without cost: {', '.join(unknown)}."
    flat = [name for name, use in uses.items() if use.rate is not None and use.peak is None]
    if flat:
        noun = "pattern has" if len(flat) == 1 else "patterns have"
        yield f"{len(flat)} {noun} a rate and no peak, and count as called evenly."
    if len(flat) + len(unknown) < len(uses):
        yield "All patterns have their peaks at the same time."
    yield (
        "Auto scaling follows the load without delay, at a target of 70 %. "
        "Reserved capacity has the greatest discount."
    )


def _assume_growth(profile: TableProfile) -> Iterator[str]:
    volumes = profile.workload.volumes
    unknown = [name for name, volume in volumes.items() if volume.growth is None]
    if volumes and len(unknown) == len(volumes):
        yield "No entity has a growth, so the table is taken to stay as large as it is."
    elif unknown:
        yield f"Without a growth, and so taken to stay as many: {', '.join(unknown)}."
    if len(unknown) < len(volumes):
        yield "As the table grows, storage and scans cost more; rates and other units stay."


def _assume_settings(profile: TableProfile) -> Iterator[str]:
    settings = profile.workload.settings
    if profile.table.stream is None:
        if settings.stream_consumers:
            yield "The table has no stream, so stream_consumers costs nothing."
    elif settings.stream_consumers:
        yield "Each stream consumer reads each shard once a second; there is one for a partition."
    else:
        yield "Nobody reads the stream, or only Lambda does, which is free."
    if settings.replicas:
        yield (
            "A replica costs what the table's writes and storage cost, at the same prices. "
            "Its own reads, backups and deletions of expired items are not counted."
        )
