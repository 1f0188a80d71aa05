"""Products: patterns of sellers, who own them, and of everybody, who may see them."""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel, ConfigDict

from keyfold import Delete, Put, Query, Update, attr
from keyfold.designs.market._items import Product, ProductId, table

_EXAMPLE_PRODUCT = Product(
    user="rabinovich",
    product=ProductId("I#01JZ10H7X367VB2NF4YQ973DHW"),
    id="APPLE-1",
    name="Apple",
    price=Decimal("0.30"),
)


class ProductChanges(BaseModel):
    """What sellers may change of a product; orders that were placed keep its former price."""

    model_config = ConfigDict(frozen=True)

    name: str | None = None
    price: Decimal | None = attr(default=None, ge=0)


@table.pattern("Add a product", example={"product": _EXAMPLE_PRODUCT})
def add_product(product: Product) -> Put[Product]:
    """Create a product; fails if it exists, or if another product has the same business id."""
    return product.create()


@table.pattern("Change a product", example={"changes": ProductChanges(price=Decimal("0.35"))})
def change_product(user: str, product: ProductId, changes: ProductChanges) -> Update[Product]:
    """Change the fields of a product that are set in `changes`; fails if there is no such product."""
    return Product.update(user=user, product=product).set_from(changes)


@table.pattern("Remove a product")
def remove_product(user: str, product: ProductId) -> Delete[Product]:
    """Delete a product; returns it, or None if there was none. It cannot be ordered after that."""
    return Product.delete(user=user, product=product)


@table.pattern("List products of a seller")
def products_of(user: str) -> Query[Product]:
    """Query the products of a seller, oldest first."""
    return Product.query(user=user)
