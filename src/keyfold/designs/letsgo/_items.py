"""Items of any category: typed, or free-form, and the operations on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar, dataclass_transform

from pydantic import Field

from keyfold import (
    Delete,
    Entity,
    Expiry,
    Get,
    Key,
    Put,
    Query,
    Table,
    Transaction,
    Update,
    attr,
    part,
    transaction,
)
from keyfold.errors import DeclarationInvalid, WriteRefused

RESERVED_PREFIX = "letsgo"

table = Table("letsgo", key=Key("category", "key"), ttl="ttl")


def _is_reserved(category: object) -> bool:
    # What is no text stands for a category in an explanation.
    return isinstance(category, str) and category.startswith(RESERVED_PREFIX)


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(Field, attr, part)
)
class _ItemMeta(type(Entity)):
    """Reads `category` from the class statement: the table, and the partition key, follow."""

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        category: str | None = None,
        **options: Any,
    ) -> Any:
        if category is not None:
            problem = None
            if _is_reserved(category):
                problem = f"category names that start with {RESERVED_PREFIX!r} are the platform's."
            elif "key" not in options:
                problem = "it has a category, and no key."
            if problem is not None:
                raise DeclarationInvalid((f"{name}: {problem}",))
            literal = category.replace("{", "{{").replace("}", "}}")
            options |= {"table": table, "key": (literal, options["key"])}
        elif "key" in options and not options.get("fallback", False):
            raise DeclarationInvalid((f"{name}: it has a key, and no category.",))
        return super().__new__(mcs, name, bases, namespace, **options)

    def __init__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        category: str | None = None,  # noqa: ARG002 - `__new__` has read it
        **options: Any,
    ) -> None:
        super().__init__(name, bases, namespace, **options)


class Item(Entity, metaclass=_ItemMeta, extra="allow"):
    """What typed categories derive from; an item may have attributes besides its fields.

    >>> class Invoice(Item, category="invoice", key="{number}"):
    ...     number: str
    >>> Invoice.get(number="invoice-7")
    <Get Invoice category='invoice' key='invoice-7'>

    `ttl` is when it expires, stored as seconds since 1970.
    """

    ttl: Expiry | None = None


class AnyItem(Item, table=table, key=("{category}", "{key}"), fallback=True):
    """An item of a category that has no type of its own.

    Writing one whose category is the platform's raises WriteRefused.
    """

    category: str
    key: str

    @classmethod
    def of(cls, category: str, key: str, /, **attributes: Any) -> Self:
        """Return an item with these attributes; type checkers do not know their names."""
        return cls.model_validate({**attributes, "category": category, "key": key})

    @property
    def attributes(self) -> dict[str, Any]:
        """What it has besides its key and its expiry."""
        return dict(self.model_extra or {})

    def put(self) -> Put[Self]:
        """Return the request that writes it, in place of whatever has its key."""
        _refuse_reserved(self.category)
        return super().put()

    def create(self) -> Put[Self]:
        """Return the request that writes it where nothing has its key."""
        _refuse_reserved(self.category)
        return super().create()

    def replace(self) -> Put[Self]:
        """Return the request that writes it in place of what has its key."""
        _refuse_reserved(self.category)
        return super().replace()

    @classmethod
    def update(cls, **parts: Any) -> Update[Self]:
        """Return the request that changes some attributes, to be told which."""
        _refuse_reserved(parts.get("category"))
        return super().update(**parts)

    @classmethod
    def delete(cls, **parts: Any) -> Delete[Self]:
        """Return the request that removes it."""
        _refuse_reserved(parts.get("category"))
        return super().delete(**parts)


def _refuse_reserved(category: object) -> None:
    if _is_reserved(category):
        fact = f"names that start with {RESERVED_PREFIX!r} are the platform's"
        advice = "Use another, or the platform's own functions."
        raise WriteRefused(f"category {category!r:.80}", fact, advice)


I = TypeVar("I", bound=Item)  # noqa: E741 - an item


@table.pattern("get_item")
def get_item(category: str, key: str, *, consistent: bool = False) -> Get[Any]:
    """One item, of its category's type or an AnyItem; None once it has expired."""
    request = table.get(category=category, key=key)
    return request.consistent() if consistent else request


@table.pattern("put_item", example={"item": AnyItem(category="{category}", key="{key}")})
def put_item(item: I) -> Put[I]:
    """Write an item, typed or not, in place of whatever has its key."""
    return item.put()


@table.pattern("delete_item")
def delete_item(category: str, key: str) -> Delete[AnyItem]:
    """Remove an item of any type; none there is no error."""
    return AnyItem.delete(category=category, key=key)


@table.pattern("list_items", example={"key_prefix": "{key_prefix}"})
def list_items(
    category: str,
    key_prefix: str = "",
    limit: int | None = None,
    next_token: str | None = None,
    *,
    consistent: bool = False,
) -> Query[Any]:
    """Items of a category whose key starts with a prefix, in the order of their keys.

    Each is of its category's type, or an AnyItem where that has none declared. A page holds `limit` items as long as there are more; its cursor is the next `next_token`.
    """
    query = table.query(category=category).after(next_token)
    if key_prefix != "":
        query = query.starting_with(key_prefix)
    if limit is not None:
        query = query.limit(limit)
    return query.consistent() if consistent else query


F = TypeVar("F", bound=Entity)
B = TypeVar("B", bound=Entity)


@dataclass(frozen=True, slots=True)
class ManyToMany(Generic[F, B]):
    """A relationship that is kept in both directions: two categories, always written together.

    >>> class ShelfBook(Item, category="shelf-book", key="/{shelf}/{book}"):
    ...     shelf: str = part()
    ...     book: str = part()
    >>> class BookShelf(Item, category="book-shelf", key="/{book}/{shelf}"):
    ...     shelf: str = part()
    ...     book: str = part()
    >>> places = ManyToMany(ShelfBook, BookShelf)
    >>> [put.to_dynamodb()["Item"]["key"]["S"] for put in places.link(shelf="a", book="b").requests]
    ['/a/b', '/b/a']

    Both have the same fields. Each direction is listed by a query of its own:
    `ShelfBook.query(shelf="a")`.
    """

    forward: type[F]
    backward: type[B]

    def __post_init__(self) -> None:
        ours, theirs = set(self.forward.model_fields), set(self.backward.model_fields)
        if ours != theirs:
            names = f"{self.forward.__name__} and {self.backward.__name__}"
            lacking = ", ".join(sorted(ours ^ theirs))
            raise DeclarationInvalid((f"{names}: only one of them has {lacking}.",))

    def link(self, **fields: Any) -> Transaction:
        """Return the transaction that writes both directions, with the same fields."""
        return transaction(self.forward(**fields).put(), self.backward(**fields).put())

    def unlink(self, **parts: Any) -> Transaction:
        """Return the transaction that removes both; what is not there is no error."""
        return transaction(self.forward.delete(**parts), self.backward.delete(**parts))
