"""Changes of a table's items, and the functions that are to be told of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, Literal, TypeVar, cast

from keyfold.errors import DeclarationInvalid
from keyfold.model._requests import Ref, Request
from keyfold.values import AttributeValue, Item

E = TypeVar("E")
E_co = TypeVar("E_co", covariant=True)

Images = Literal["keys", "new", "old", "new and old"]
ChangeKind = Literal["inserted", "changed", "removed"]

# How the API calls what records show of an item.
VIEW_TYPES: dict[Images, str] = {
    "keys": "KEYS_ONLY",
    "new": "NEW_IMAGE",
    "old": "OLD_IMAGE",
    "new and old": "NEW_AND_OLD_IMAGES",
}

_match_name = re.compile(r"[A-Za-z0-9_.-]{1,100}").fullmatch

# What a handler returns: requests that the store is to run.
Reaction = Request[Any] | Iterable[Request[Any]] | None


# Without slots, which Python 3.11 cannot have where it is called as Change[Order](…).
@dataclass(frozen=True)
class Change(Generic[E_co]):
    """One change of an item: what it was, what it is, and when that was.

    A test of a handler makes one with what the handler looks at: `Change("inserted", new=order)`.

    `old` and `new` are None where there was, or is, nothing of the entities that the handler is
    for, and where the table's stream does not show them. `ref` is the entity by its key alone,
    None for an item that fits no entity. `by_expiry` tells that its time had come, and nobody
    removed it. `id` is the same each time the same change is delivered.
    """

    kind: ChangeKind
    old: E_co | None = None
    new: E_co | None = None
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    by_expiry: bool = False
    key: Item = field(default_factory=dict[str, AttributeValue])
    ref: Ref[E_co] | None = None
    id: str = ""

    @property
    def entity(self) -> E_co | None:
        """What it is now, or was before it was removed."""
        return self.old if self.new is None else self.new


@dataclass(frozen=True, slots=True)
class Handler(Generic[E]):
    """A function that is told of changes; calling it runs nothing but the function.

    `entities` are those that it is for, none for all of the table; `images` is what it needs to
    see of an item.
    """

    name: str
    react: Callable[[Change[E]], Reaction | Awaitable[Reaction]]
    entities: tuple[type[Any], ...]
    images: Images

    def __call__(self, change: Change[E]) -> Reaction | Awaitable[Reaction]:
        """Call the function."""
        return self.react(change)

    @property
    def is_async(self) -> bool:
        """Whether it is a coroutine function, which only an AsyncStore can call."""
        return inspect.iscoroutinefunction(self.react)

    @property
    def description(self) -> str:
        """What its docstring says."""
        return inspect.getdoc(self.react) or ""

    def find_problems(self, table: str, stream: Images | None) -> list[str]:
        """Return what it cannot have from a table's stream."""
        if stream is None:
            fact = f"handler {self.name!r} follows its changes, and it declares no stream"
            return [f'{table}: {fact}. Declare stream="{self.images}".']
        lacking = [each for each in ("new", "old") if each in self.images and each not in stream]
        if not lacking:
            return []
        problem = (
            f"{table}: handler {self.name!r} needs the {lacking[0]} image of an item, and the "
            f"stream shows {stream}. Declare the table with a stream that does, or the handler "
            f'with images="{stream}".'
        )
        return [problem]


@dataclass(slots=True)
class HandlerRegistry(Mapping[str, Handler[Any]]):
    """The handlers of a table, by name, in the order in which they are told."""

    table: str
    by_name: dict[str, Handler[Any]] = field(default_factory=dict[str, Handler[Any]])

    def register(
        self, entities: tuple[type[Any], ...], name: str | None, images: Images
    ) -> Callable[[Callable[[Change[Any]], Any]], Handler[Any]]:
        """Return the decorator that registers a function."""

        def decorate(react: Callable[[Change[Any]], Any]) -> Handler[Any]:
            handler = Handler(
                name or cast(str, getattr(react, "__name__", "")), react, entities, images
            )
            problems = [*self._find_problems(handler)]
            if problems:
                raise DeclarationInvalid(tuple(problems))
            self.by_name[handler.name] = handler
            return handler

        return decorate

    def _find_problems(self, handler: Handler[Any]) -> Iterator[str]:
        subject = f"{self.table}: handler {handler.name!r}"
        if _match_name(handler.name) is None:
            yield f"{subject}: its name has 1 to 100 letters, digits, '_', '-' and '.'. Give one."
        if handler.images not in VIEW_TYPES:
            known = ", ".join(map(repr, VIEW_TYPES))
            yield f"{subject}: there are no images {handler.images!r}; there are {known}."
        other = self.by_name.get(handler.name)
        # The same function may be defined again, as in a notebook.
        if other is not None and _origin(other) != _origin(handler):
            yield f"{subject} is declared twice."

    def __getitem__(self, name: str) -> Handler[Any]:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)


def _origin(handler: Handler[Any]) -> tuple[str, str]:
    react: Any = handler.react
    return getattr(react, "__module__", ""), getattr(react, "__qualname__", repr(react))
