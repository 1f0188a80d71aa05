"""Billing modes of a table: on demand, with maximums or without, or provisioned capacity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Provisioned:
    """Provisioned capacity, in read and write units per second; billed whether used or not.

    An index has the same capacity as the table unless `indexes` has an entry for it.

    >>> Provisioned(read=10, write=5, indexes={"ByDate": Provisioned(read=20, write=5)}).of("ByDate")
    Provisioned(read=20, write=5)
    """

    read: int
    write: int
    indexes: Mapping[str, Provisioned] = field(default_factory=dict[str, "Provisioned"])

    def of(self, index: str) -> Provisioned:
        """Return the provisioned capacity of an index."""
        return self.indexes.get(index, Provisioned(self.read, self.write))

    def to_dynamodb(self) -> dict[str, int]:
        """Return the ProvisionedThroughput, without that of the indexes."""
        return {"ReadCapacityUnits": self.read, "WriteCapacityUnits": self.write}

    def __repr__(self) -> str:
        indexes = f", indexes={dict(self.indexes)!r}" if self.indexes else ""
        return f"Provisioned(read={self.read}, write={self.write}{indexes})"


@dataclass(frozen=True, slots=True)
class OnDemand:
    """Capacity on demand, up to a maximum of read and write units per second; None for no maximum.

    More is throttled, so a faulty program costs no more than that. An index has the same maximums as
    the table unless `indexes` has an entry for it.

    >>> OnDemand(max_read=4000, max_write=1000).of("ByDate")
    OnDemand(max_read=4000, max_write=1000)
    """

    max_read: int | None = None
    max_write: int | None = None
    indexes: Mapping[str, OnDemand] = field(default_factory=dict[str, "OnDemand"])

    def of(self, index: str) -> OnDemand:
        """Return the maximums of an index."""
        return self.indexes.get(index, OnDemand(self.max_read, self.max_write))

    def to_dynamodb(self) -> dict[str, int]:
        """Return the OnDemandThroughput, without that of the indexes; empty without maximums."""
        maximums = {"MaxReadRequestUnits": self.max_read, "MaxWriteRequestUnits": self.max_write}
        return {name: value for name, value in maximums.items() if value is not None}

    def __repr__(self) -> str:
        indexes = f", indexes={dict(self.indexes)!r}" if self.indexes else ""
        return f"OnDemand(max_read={self.max_read}, max_write={self.max_write}{indexes})"


Billing = Literal["on demand"] | OnDemand | Provisioned
