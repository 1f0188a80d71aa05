"""Formatting of counts, sizes, durations and capacity units."""

from __future__ import annotations


def count_of(number: float, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1.

    >>> count_of(1, "key"), count_of(1.5, "capacity unit"), count_of(0, "problem")
    ('1 key', '1.5 capacity units', '0 problems')
    """
    return f"{number:,.12g} {noun}" + ("" if number == 1 else "s")


def show_size(size_bytes: int) -> str:
    """Return a size with a unit.

    >>> show_size(1_536), show_size(12), show_size(1)
    ('1.5 KB', '12 bytes', '1 byte')
    """
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:,.1f} {name}"
    return count_of(size_bytes, "byte")


def show_seconds(seconds: float) -> str:
    """Return a duration in hours, minutes and seconds.

    >>> show_seconds(4_000), show_seconds(75), show_seconds(3)
    ('1 h 6 min', '1 min 15 s', '3 s')
    """
    whole = round(seconds)
    if whole >= 3600:  # noqa: PLR2004 - an hour
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"  # noqa: PLR2004


def show_units(read_units: float, write_units: float) -> str:
    """Return the capacity a job consumed, in parentheses; empty if none.

    >>> show_units(3, 1), show_units(1, 0)
    (' (3 read and 1 write units)', ' (1 read unit)')
    """
    kinds = [(read_units, "read"), (write_units, "write")]
    parts = [f"{units:,g} {kind}" for units, kind in kinds if units]
    noun = "unit" if read_units + write_units == 1 else "units"
    return f" ({' and '.join(parts)} {noun})" if parts else ""
