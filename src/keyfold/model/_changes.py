"""Changes of a table's items (change data capture), and the handlers that process them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, Literal, TypeVar, cast

from keyfold.errors import DeclarationInvalid
from keyfold.model._reads import Ref
from keyfold.model._requests import Request
from keyfold.values import AttributeValue, Item

E = TypeVar("E")
E_co = TypeVar("E_co", covariant=True)

Images = Literal["keys", "new", "old", "new and old"]
ChangeKind = Literal["inserted", "changed", "removed"]

# The StreamViewType of each kind of images.
VIEW_TYPES: dict[Images, str] = {
    "keys": "KEYS_ONLY",
    "new": "NEW_IMAGE",
    "old": "OLD_IMAGE",
    "new and old": "NEW_AND_OLD_IMAGES",
}

_match_name = re.compile(r"[A-Za-z0-9_.-]{1,100}").fullmatch

# What a handler returns: requests for the store to run.
Reaction = Request[Any] | Iterable[Request[Any]] | None


# Without slots: in Python 3.11 a slotted generic class cannot be called as Change[Order](…).
@dataclass(frozen=True)
class Change(Generic[E_co]):
    """A change of one item: the entity before and after, and the time of the change.

    In a test of a handler, pass only what the handler uses: `Change("inserted", new=order)`.

    `old` and `new` are None if the item did not exist, is not one of the handler's entities, or if
    the table's stream does not have that image. `ref` refers to the entity by its key; it is None
    for an item that matches no entity. `by_expiry` is true if the item was deleted because it had
    expired (TTL). `id` is the same for every delivery of the same change: use it to make handlers
    idempotent.
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
        """The entity after the change, or before it if it was removed."""
        return self.old if self.new is None else self.new


@dataclass(frozen=True, slots=True)
class Handler(Generic[E]):
    """A function that processes changes of a table; calling the handler calls the function.

    `entities` are those whose changes it gets, empty for all of the table. `images` is what it
    needs of a changed item.
    """

    name: str
    react: Callable[[Change[E]], Reaction | Awaitable[Reaction]]
    entities: tuple[type[Any], ...]
    images: Images

    def __call__(self, change: Change[E]) -> Reaction | Awaitable[Reaction]:
        """Call the function and return the requests that it returns."""
        return self.react(change)

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function, which only an AsyncStore can call."""
        return inspect.iscoroutinefunction(self.react)

    @property
    def description(self) -> str:
        """The docstring of the function."""
        return inspect.getdoc(self.react) or ""

    def find_problems(self, table: str, stream: Images | None) -> list[str]:
        """Return the problems of using the handler with a table that has this stream."""
        if stream is None:
            fact = f"handler {self.name!r} needs a stream, but the table declares none"
            return [f'{table}: {fact}. Declare stream="{self.images}".']
        missing = [each for each in ("new", "old") if each in self.images and each not in stream]
        if not missing:
            return []
        problem = (
            f"{table}: handler {self.name!r} needs the {missing[0]} image of an item, but the "
            f"stream has {stream}. Declare the table with a stream that has it, or the handler "
            f'with images="{stream}".'
        )
        return [problem]


@dataclass(slots=True)
class HandlerRegistry(Mapping[str, Handler[Any]]):
    """The handlers of a table, by name, in the order in which they get changes."""

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
            yield (
                f"{subject}: a handler's name has 1 to 100 letters, digits, '_', '-' and '.'. "
                "Pass another with name=…."
            )
        if handler.images not in VIEW_TYPES:
            known = ", ".join(map(repr, VIEW_TYPES))
            yield f"{subject}: images is {handler.images!r}; it must be one of {known}."
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
