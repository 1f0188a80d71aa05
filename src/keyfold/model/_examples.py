"""Example entities of a table, which tools show, measure and load."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from keyfold.errors import DeclarationInvalid

MakeExamples = Callable[[], Iterable[BaseModel]]
M = TypeVar("M", bound=MakeExamples)


@dataclass(slots=True)
class ExampleRegistry:
    """The functions that return a table's example entities."""

    table: str
    functions: list[MakeExamples] = field(default_factory=list[MakeExamples])

    def register(self, make: M) -> M:
        """Add a function."""
        self.functions.append(make)
        return make

    def make(self, owner: object) -> tuple[Any, ...]:
        """Return the entities of all functions; raises DeclarationInvalid."""
        found = tuple(entity for make in self.functions for entity in make())
        for each in found:
            if type(each).__dict__.get("_keyfold_table") is not owner:
                problem = f"{self.table}: examples: {each!r:.80} is not an entity of this table."
                raise DeclarationInvalid((problem,))
        return found
