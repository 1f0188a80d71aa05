"""Billing modes of a table: on demand, or provisioned capacity."""

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


Billing = Literal["on demand"] | Provisioned
