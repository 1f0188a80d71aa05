"""Prices: data with a date and a region, which a user's file replaces."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, cast

from keyfold.errors import PricesInvalid

TableClass = Literal["standard", "infrequent_access"]
_SECTIONS = ("region", "date", "source", "standard", "infrequent_access", "extras", "reserved")
# No price is higher. More would be infinite once it is multiplied.
_MOST = 1e9
TABLE_CLASSES: tuple[TableClass, ...] = ("standard", "infrequent_access")


@dataclass(frozen=True, slots=True)
class ClassPrices:
    """The prices of a table class, in US dollars."""

    million_write_requests: float
    million_read_requests: float
    write_unit_hour: float
    read_unit_hour: float
    storage_gb_month: float


@dataclass(frozen=True, slots=True)
class ExtraPrices:
    """The prices of what a table may have besides, in US dollars."""

    backup_gb_month: float
    pitr_gb_month: float
    restore_gb: float
    export_gb: float
    million_kinesis_units: float
    million_stream_reads: float
    free_stream_reads: float
    vector_write_gb: float
    vector_search_gb: float


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of a region at a date. `reserved` is the greatest discount, by years."""

    region: str
    date: str
    standard: ClassPrices
    infrequent_access: ClassPrices
    extras: ExtraPrices
    reserved: Mapping[int, float]

    def of(self, table_class: TableClass) -> ClassPrices:
        """Return the prices of a table class."""
        return self.standard if table_class == "standard" else self.infrequent_access


def read_prices(file: Path | None = None) -> Prices:
    """Return the prices of a file, by default those of us-east-1; raises PricesInvalid."""
    name = "the included prices" if file is None else str(file)
    try:
        text = (
            files("keyfold.analysis.cost").joinpath("prices.toml").read_text("utf-8")
            if file is None
            else file.read_text("utf-8")
        )
    except OSError as error:
        raise PricesInvalid(name, f"it cannot be read: {error.strerror or error}", "") from None
    except UnicodeDecodeError as error:
        raise PricesInvalid(name, f"it is not TOML: {error}", "") from None
    return parse_prices(text, name)


def parse_prices(text: str, name: str) -> Prices:
    """Return the prices of a TOML document, which errors name; raises PricesInvalid."""
    try:
        document = tomllib.loads(text)
    except ValueError as error:
        raise PricesInvalid(name, f"it is not TOML: {error}", "") from None
    reader = _PriceReader(name, document)
    reader.check_sections()
    when = document.get("date")
    if not isinstance(document.get("region"), str) or not isinstance(when, date | str):
        raise PricesInvalid(name, "it lacks its region or its date", "Give both.")
    return Prices(
        document["region"],
        str(when),
        reader.read("standard", ClassPrices),
        reader.read("infrequent_access", ClassPrices),
        reader.read("extras", ExtraPrices),
        reader.read_reserved(),
    )


@dataclass(frozen=True, slots=True)
class _PriceReader:
    name: str
    document: Mapping[str, Any]

    def read(self, section: str, kind: type[Any]) -> Any:
        """Return the prices of a section; raises PricesInvalid if one is missing or unknown."""
        found = self.numbers(section)
        wanted = {each.name for each in fields(kind)}
        for name in sorted(wanted ^ found.keys()):
            fact = f"{name} is {'missing' if name in wanted else 'unknown'}"
            advice = f"It has {', '.join(each.name for each in fields(kind))}."
            raise PricesInvalid(f"{self.name}, [{section}]", fact, advice)
        return kind(**found)

    def check_sections(self) -> None:
        """Raise PricesInvalid for a name at the top that is unknown."""
        for name in self.document:
            if name not in _SECTIONS:
                raise PricesInvalid(
                    self.name, f"{name} is unknown", f"It has {', '.join(_SECTIONS)}."
                )

    def read_reserved(self) -> dict[int, float]:
        """Return the discounts of reserved capacity, by years; raises PricesInvalid."""
        found: dict[int, float] = {}
        for years, share in self.numbers("reserved").items():
            if not years.isdecimal() or not int(years) or share > 1:
                advice = "Write years = a share of the price, as in 3 = 0.77."
                raise PricesInvalid(f"{self.name}, [reserved]", f"got {years} = {share!r}", advice)
            found[int(years)] = share
        return found

    def numbers(self, section: str) -> dict[str, float]:
        """Return the numbers of a section; raises PricesInvalid."""
        found: Any = self.document.get(section, {})
        where = f"{self.name}, [{section}]"
        if not isinstance(found, dict):
            raise PricesInvalid(where, f"got {found!r:.80}", "Write a TOML table.")
        numbers = cast(dict[str, Any], found)
        for name, value in numbers.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not 0 <= value <= _MOST:
                advice = "Write a number of US dollars, of 0 or more."
                raise PricesInvalid(where, f"{name} is {value!r:.80}", advice)
        return numbers
