"""Items of any category, typed or free-form, and the operations on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, dataclass_transform

from pydantic import Field

from keyfold import (
    Check,
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
from keyfold.errors import DeclarationInvalid

RESERVED_PREFIX = "letsgo"

table = Table(
    "letsgo",
    key=Key("category", "key"),
    ttl="ttl",
    reserved=RESERVED_PREFIX,
    lint_ignore={"P04": "what has no rate or count is so rare that it costs nothing"},
)


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(Field, attr, part)
)
class _ItemMeta(type(Entity)):
    """Metaclass that tells type checkers about `category=` in a class statement."""

    if TYPE_CHECKING:

        def __new__(
            mcs,
            name: str,
            bases: tuple[type, ...],
            namespace: dict[str, Any],
            *,
            category: str | None = None,
            **options: Any,
        ) -> Any: ...


class Item(Entity, metaclass=_ItemMeta, extra="allow"):
    """Base class of typed categories; an item may have free-form attributes besides its fields.

    >>> class Invoice(Item, category="invoice", key="{number}"):
    ...     number: str
    >>> Invoice.get(number="invoice-7")
    <Get Invoice category='invoice' key='invoice-7'>

    `ttl` is the time at which it expires, stored as Unix time in seconds.
    """

    ttl: Expiry | None = None

    def __init_subclass__(cls, *, category: str | None = None, **options: Any) -> None:
        """Derive the table and the partition key from `category=` in the class statement."""
        if category is not None:
            problem = None
            if category.startswith(RESERVED_PREFIX):
                problem = f"category names that start with {RESERVED_PREFIX!r} are reserved."
            elif "key" not in options:
                problem = "it has a category but no key."
            if problem is not None:
                raise DeclarationInvalid((f"{cls.__name__}: {problem}",))
            # A category is a shard, so that it may have several entities.
            shard = table.shard(category.replace("{", "{{").replace("}", "}}"), name=category)
            options |= {"table": table, "key": (shard, options["key"])}
        elif "key" in options and not options.get("fallback", False):
            raise DeclarationInvalid((f"{cls.__name__}: it has a key but no category.",))
        super().__init_subclass__(**options)


class AnyItem(Item, table=table, key=("{category}", "{key}"), fallback=True):
    """An item of a category for which no entity is declared.

    Writing one in a reserved category raises WriteRefused.
    """

    category: str
    key: str

    @classmethod
    def of(cls, category: str, key: str, /, **attributes: Any) -> Self:
        """Return an item with these attributes, whose names type checkers cannot check."""
        return cls.model_validate({**attributes, "category": category, "key": key})

    @property
    def attributes(self) -> dict[str, Any]:
        """The free-form attributes: all but the key and the expiry."""
        return dict(self.model_extra or {})


I = TypeVar("I", bound=Item)  # noqa: E741 - an item


@table.pattern("get_item")
def get_item(category: str, key: str, *, consistent: bool = False) -> Get[Any]:
    """Get one item, as its category's entity or as an AnyItem; None once it has expired."""
    request = table.get(category=category, key=key)
    return request.consistent() if consistent else request


@table.pattern("put_item", example={"item": AnyItem(category="{category}", key="{key}")})
def put_item(item: I) -> Put[I]:
    """Upsert an item, typed or free-form."""
    return item.put()


@table.pattern("update_item", example={"changes": {"{attribute}": "{value}"}})
def update_item(category: str, key: str, changes: dict[str, Any]) -> Update[Any]:
    """Change some attributes of an item, and leave the others; None removes an attribute.

    If the category has an entity, the changes are checked by its fields. Fails with NotFound if
    there is no item.
    """
    # Raises WriteRefused for the platform's categories, whose entities `table.update` would find.
    AnyItem.update(category=category, key=key)
    return table.update(category=category, key=key).set_from(changes)


@table.pattern("delete_item")
def delete_item(category: str, key: str) -> Delete[AnyItem]:
    """Delete an item of any category; does nothing if there is none."""
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
    """Query the items of a category whose key starts with a prefix, in the order of their keys.

    Each is an instance of its category's entity, or an AnyItem if none is declared. For
    pagination, `limit` is the number of items per page, and the cursor of a page is the
    `next_token` of the next.
    """
    query = table.query(category=category).after(next_token)
    if key_prefix != "":
        query = query.starting_with(key_prefix)
    if limit is not None:
        query = query.limit(limit)
    return query.consistent() if consistent else query


def check_exists(category: str, key: str) -> Check:
    """Return a check for transactions: they fail unless there is such an item, typed or not.

    >>> check_exists("customers", "customer-123")
    <check AnyItem category='customers' key='customer-123' attribute_exists(key)>
    """
    return AnyItem.check(AnyItem.f.key.exists(), category=category, key=key)


F = TypeVar("F", bound=Entity)
B = TypeVar("B", bound=Entity)


@dataclass(frozen=True, slots=True)
class ManyToMany(Generic[F, B]):
    """A many-to-many relationship: two categories, one per direction, always written together.

    >>> class ShelfBook(Item, category="shelf-book", key="/{shelf}/{book}"):
    ...     shelf: str = part()
    ...     book: str = part()
    >>> class BookShelf(Item, category="book-shelf", key="/{book}/{shelf}"):
    ...     shelf: str = part()
    ...     book: str = part()
    >>> places = ManyToMany(ShelfBook, BookShelf)
    >>> [put.to_dynamodb()["Item"]["key"]["S"] for put in places.link(shelf="a", book="b").requests]
    ['/a/b', '/b/a']

    Both must have the same fields. Each direction is listed by a query, such as
    `ShelfBook.query(shelf="a")`.
    """

    forward: type[F]
    backward: type[B]

    def __post_init__(self) -> None:
        ours, theirs = set(self.forward.model_fields), set(self.backward.model_fields)
        if ours != theirs:
            names = f"{self.forward.__name__} and {self.backward.__name__}"
            different = ", ".join(sorted(ours ^ theirs))
            raise DeclarationInvalid((f"{names}: only one of them has {different}.",))

    def link(self, **fields: Any) -> Transaction:
        """Return a transaction that writes both directions, with the same fields."""
        return transaction(self.forward(**fields).put(), self.backward(**fields).put())

    def unlink(self, **parts: Any) -> Transaction:
        """Return a transaction that deletes both directions; does nothing if they do not exist."""
        return transaction(self.forward.delete(**parts), self.backward.delete(**parts))
