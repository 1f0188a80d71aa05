"""How a table's capacity is paid for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Provisioned:
    """Capacity that is reserved and paid for whether it is used or not, in units a second.

    An index has the table's figures unless `indexes` names it.

    >>> Provisioned(read=10, write=5, indexes={"ByDate": Provisioned(read=20, write=5)}).of("ByDate")
    Provisioned(read=20, write=5)
    """

    read: int
    write: int
    indexes: Mapping[str, Provisioned] = field(default_factory=dict[str, "Provisioned"])

    def of(self, index: str) -> Provisioned:
        """Return what an index has."""
        return self.indexes.get(index, Provisioned(self.read, self.write))

    def to_dynamodb(self) -> dict[str, int]:
        """Return it as the API takes it, indexes apart."""
        return {"ReadCapacityUnits": self.read, "WriteCapacityUnits": self.write}

    def __repr__(self) -> str:
        indexes = f", indexes={dict(self.indexes)!r}" if self.indexes else ""
        return f"Provisioned(read={self.read}, write={self.write}{indexes})"


Billing = Literal["on demand"] | Provisioned
