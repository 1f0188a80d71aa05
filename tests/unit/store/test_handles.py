"""Handles: system keys as end users see them, sealed for one principal."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import BaseModel, ValidationError
from typing_extensions import TypeAliasType, TypedDict

import keyfold
from keyfold import READ, WRITE, Entity, Key, Role, Store, Table, Ulid, attr, part, transaction
from keyfold.errors import (
    AccessDenied,
    DeclarationInvalid,
    HandleInvalid,
    KeyfoldError,
    OptionInvalid,
    RequestRefused,
)
from keyfold.store import Handles, StoreSettings
from keyfold.store._handles import derive_handle_key
from keyfold.store._system_keys import find_system_keys


class SystemKey(Ulid, is_system_key=True):
    """Base class of the shop's system keys."""


class OrderId(SystemKey, prefix="O"): ...


class ItemId(SystemKey, prefix="item", separator="_"): ...


class CouponId(Ulid, prefix="K"):
    """An id that customers may see."""


shop = Table("HandleShop", key=Key("pk", "sk"))
orders = shop.shard("U#{user}", name="orders")


class Order(Entity, table=shop, key=(orders, "{order}")):
    user: str = part()
    order: OrderId = part()
    items: list[ItemId] = attr(default_factory=list[ItemId])
    coupon: CouponId | None = None
    note: str = ""


shop.add_role(Role("customer", tenant="user", can={orders: READ | WRITE}, is_end_user=True))
shop.add_role(Role("guest", tenant="user", can={orders: READ}, is_end_user=True))
shop.add_role(Role("staff", can={orders: READ}))

SECRET = b"a secret of the test"
ORDER = OrderId("O#01JZ10H7X367VB2NF4YQ973DHX")
ITEM = ItemId("item_01JZ10H7X367VB2NF4YQ973DHX")
COUPON = CouponId("K#01JZ10H7X367VB2NF4YQ973DHX")


@pytest.fixture
def store() -> Any:
    with keyfold.open(shop, ":memory:", cursor_key=SECRET) as store:
        yield store


def handles_of(store: Store, *roles: str, **ids: str) -> Handles:
    found = store.as_principal(*roles, **ids).handles
    assert found is not None
    return found


@pytest.fixture
def ada(store: Store) -> Handles:
    return handles_of(store, "customer", user="ada")


def test_an_id_is_shown_as_a_handle_and_read_back(ada: Handles) -> None:
    for id_ in (ORDER, ITEM):
        handle = ada.show(id_)
        assert id_ not in handle
        assert re.fullmatch(rf"{id_.prefix}_h[A-Za-z0-9_-]{{43}}", handle)
        assert ada.read(handle) == id_
        # A handle that is shown again stays as it is.
        assert ada.show(handle) == handle


def test_ids_within_texts_are_shown_and_read(ada: Handles) -> None:
    text = f"{ORDER}#001, {ITEM}{ITEM} and {COUPON}"
    shown = ada.show(text)
    assert shown == f"{ada.show(ORDER)}#001, {ada.show(ITEM)}{ada.show(ITEM)} and {COUPON}"
    assert ada.read(shown) == text
    assert ada.show(ORDER.lower().replace("o#", "O#")) == ada.show(ORDER)


class DigitsId(SystemKey, prefix="1", separator=""):
    """An id that looks like a number."""


class QuoteId(SystemKey, prefix="a", separator='"'):
    """An id with a character that JSON escapes."""


class LiteralId(SystemKey, prefix="n", separator="u"):
    """An id of letters that JSON has outside of texts."""


class NewlineId(SystemKey, prefix="n"):
    """An id that begins with the letter of an escape."""


ULID = "01JZ10H7X367VB2NF4YQ973DHW"


@pytest.mark.parametrize("kind", [OrderId, ItemId, DigitsId, QuoteId, LiteralId, NewlineId])
@pytest.mark.parametrize(
    "value",
    [
        "{id}",
        {"{id}": ["{id}", {"é {id}{id}→": None}], "n": 12345678901234567890123456789012345678},
        ["\n#" + ULID, "\\{id}", '"{id}"', "\t{id}"],
        [1, 0.1, 1e300, True, False, None, {}, [], ""],
        [101234567012345670123456701, -1012345670123456701234567],
        ULID,
    ],
    ids=["text", "nested", "escapes", "others", "digits", "body"],
)
def test_encoded_json_is_shown_like_its_value(kind: type[Ulid], value: Any) -> None:
    handles = Handles([kind], bytes(64), "ada")
    escaped = json.dumps(kind(kind.head + ULID))[1:-1]
    encoded = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("{id}", escaped)
    shown = handles.show_encoded(encoded.encode())
    assert json.loads(shown) == handles.show_json(json.loads(encoded))


def test_ids_within_json_are_shown_and_read(ada: Handles) -> None:
    value = {str(ORDER): [{"item": str(ITEM)}, 1, None, True], "note": f"see {ORDER}"}
    shown = ada.show_json(value)
    assert ORDER not in str(shown)
    assert shown["note"] == f"see {ada.show(ORDER)}"
    assert ada.read_json(shown) == value


def test_handles_are_of_one_principal(store: Store, ada: Handles) -> None:
    others = [
        handles_of(store, "customer", user="bob"),
        handles_of(store, "guest", user="ada"),
        handles_of(store, "customer", "guest", user="ada"),
    ]
    for other in others:
        assert other.show(ORDER) != ada.show(ORDER)
        with pytest.raises(HandleInvalid) as caught:
            other.read(ada.show(ORDER))
        assert (
            str(caught.value)
            == "OrderId: there is no such id. Give it as it was shown to you. [handle-invalid]"
        )
    same = handles_of(store, "guest", "customer", user="ada")
    assert same.show(ORDER) == others[2].show(ORDER)


def test_an_id_itself_and_an_altered_handle_are_the_same_as_another_principals(
    ada: Handles,
) -> None:
    handle = ada.show(ORDER)
    altered = handle[:-2] + ("A" if handle[-2] != "A" else "B") + handle[-1]
    # The last character has two unused bits.
    unused = handle[:-1] + chr(ord(handle[-1]) + 1)
    for text in (ORDER, f"x {ORDER}", altered, unused, handle.replace("O_", "item_")):
        with pytest.raises(HandleInvalid):
            ada.read(text)


def test_other_base64_is_no_handle(ada: Handles) -> None:
    # The cursor of a page may be a parameter, and may have these letters in it.
    cursor = "AbcO_h" + "x" * 60
    assert ada.read(cursor) == cursor
    assert ada.read(f"order_{ada.show(ORDER)}_1") == f"order_{ORDER}_1"
    with pytest.raises(HandleInvalid):
        ada.read(f"order:O_h{'x' * 42}A")


def test_what_looks_like_a_handle_hides_no_key(ada: Handles) -> None:
    # The letter before # belongs to both.
    assert ORDER[2:] not in ada.show(f"O_h{'x' * 42}{ORDER}")


def test_other_texts_stay_as_they_are(ada: Handles) -> None:
    for text in ("", "ada", COUPON, "O#1", "O_h", "O#" + "U" * 26, ITEM[:-1], "Ö#01JZ"):
        assert ada.show(text) == text
        assert ada.read(text) == text


def test_a_handle_is_the_same_in_another_process(ada: Handles) -> None:
    code = f"""
import keyfold
from tests.unit.store.test_handles import ORDER, shop
with keyfold.open(shop, ":memory:", cursor_key={SECRET!r}) as store:
    print(store.as_principal("customer", user="ada").handles.show(ORDER))
"""
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == ada.show(ORDER)


def test_a_handle_stays_the_same_in_later_versions(ada: Handles) -> None:
    # A golden value: links that contain handles would break if it changed.
    assert ada.show(ORDER) == "O_h7OLBtWGP8W51h7-gJXncAypBWYVzdIKfyMuDHAliQcU"


def test_a_file_has_a_key_for_handles(tmp_path: Path) -> None:
    shown: list[str] = []
    for _ in range(2):
        with keyfold.open(shop, tmp_path / "shop.db") as store:
            shown.append(handles_of(store, "customer", user="ada").show(ORDER))
    assert shown[0] == shown[1]


def test_handles_need_a_key_that_lasts() -> None:
    class Nothing:
        def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            raise AssertionError(operation, request)

    store = Store(Nothing(), StoreSettings([shop]))
    assert store.as_principal("staff").handles is None
    with pytest.raises(OptionInvalid, match="Handles have to stay the same"):
        _ = store.as_principal("customer", user="ada").handles


def test_only_principals_that_are_end_users_have_handles(store: Store) -> None:
    assert store.handles is None
    assert store.as_principal("staff").handles is None
    # Whoever is staff as well sees what staff sees.
    assert store.as_principal("customer", "staff", user="ada").handles is None


def test_an_async_store_has_the_same_handles(ada: Handles) -> None:
    async def show() -> str:
        async with keyfold.open_async(shop, ":memory:", cursor_key=SECRET) as store:
            found = store.as_principal("customer", user="ada").handles
            assert found is not None
            return found.show(ORDER)

    assert asyncio.run(show()) == ada.show(ORDER)


def test_the_store_itself_takes_and_returns_ids(store: Store) -> None:
    customer = store.as_principal("customer", user="ada")
    order = customer.run(Order(user="ada", order=ORDER).create())
    assert customer.run(Order.get(user="ada", order=ORDER)) == order


# Errors.


def shown_error(handles: Handles, store: Store, request: Any) -> str:
    with pytest.raises(KeyfoldError) as caught:
        store.run(request)
    return handles.show_error(caught.value)


def test_errors_name_entities_and_handles(store: Store, ada: Handles) -> None:
    customer = store.as_principal("customer", user="ada")
    order, handle = Order(user="ada", order=ORDER), ada.show(ORDER)
    update = Order.update(user="ada", order=ORDER).set(Order.f.note, "new")
    assert shown_error(ada, customer, update) == f"Order {handle} does not exist."
    customer.run(order.create())
    assert shown_error(ada, customer, order.create()) == f"Order {handle} already exists."
    checked = update.where(Order.f.note.eq("old"))
    told = f"Order {handle}: a condition of the request does not hold."
    assert shown_error(ada, customer, checked) == told
    both = transaction(order.create(), Order(user="ada", order=OrderId.new()).create())
    assert shown_error(ada, customer, both) == f"Order {handle} already exists."


def test_denials_are_told_in_full(store: Store, ada: Handles) -> None:
    customer = store.as_principal("customer", user="ada")
    told = shown_error(ada, customer, Order.get(user="bob", order=ORDER))
    assert told == (
        "customer: GetItem on HandleShop is denied: orders: customer may only use partitions of "
        "its own user."
    )
    assert "U#" not in ada.show_error(AccessDenied("customer", "GetItem", "Shop", f"{ORDER[:12]}…"))


def test_other_errors_say_what_clients_of_an_api_are_told(ada: Handles) -> None:
    error = RequestRefused("Get(pk='U#ada', sk='O#01JZ10H7X3…')", "too large")
    assert ada.show_error(error) == "The request could not be carried out."


class Basket(BaseModel):
    """Input of a client, with an id as the key of a map."""

    quantities: dict[OrderId, int]
    order: OrderId


def test_validation_errors_are_told_by_field(ada: Handles) -> None:
    with pytest.raises(ValidationError) as caught:
        Basket.model_validate({"quantities": {ORDER: "x"}, "order": ITEM})
    told = ada.show_error(caught.value)
    assert told == (
        f"quantities.{ada.show(ORDER)}: Input should be a valid integer, unable to parse string as "
        "an integer; order: OrderId: there is no such id. Give it as it was shown to you."
    )


# The types of system keys.


class BillId(SystemKey, prefix="B"): ...


class Inner(BaseModel):
    bill: BillId | None = None


class Deep(BaseModel):
    inner: dict[str, list[Annotated[Inner, "noted"]]]


class CartId(SystemKey, prefix="C"): ...


class LineId(SystemKey, prefix="L"): ...


class PageId(SystemKey, prefix="P"): ...


class WordId(SystemKey, prefix="W"): ...


Words = TypeAliasType("Words", list[WordId])


@dataclass
class Line:
    line: LineId


class Pages(NamedTuple):
    page: PageId


class Text(TypedDict):
    words: Words


def test_system_keys_are_found_wherever_they_are() -> None:
    table = Table("DeepShop", key=Key("pk"))

    class Everything(Entity, table=table, key="{name}"):
        name: str = part()
        coupon: CouponId
        deep: Deep
        line: Line
        pages: Pages
        text: Text

    @table.pattern("Get by cart")
    def by_cart(cart: CartId, name: str) -> Any:
        return Everything.get(name=name)

    assert find_system_keys(table) == {BillId, CartId, LineId, PageId, WordId}


def test_a_system_key_needs_a_prefix() -> None:
    class BareId(Ulid, is_system_key=True): ...

    with pytest.raises(DeclarationInvalid, match="BareId: a system key needs a prefix"):
        Handles([BareId], derive_handle_key(SECRET), "")
    bare = Handles([], derive_handle_key(SECRET), "")
    assert bare.show(ORDER) == bare.read(ORDER) == ORDER


def test_kinds_with_one_prefix_have_different_handles() -> None:
    class DashId(SystemKey, prefix="O", separator="-"): ...

    handles = Handles([OrderId, DashId], derive_handle_key(SECRET), "")
    dash = DashId.from_number(ORDER.number)
    assert handles.show(dash) != handles.show(ORDER)
    assert [handles.read(handles.show(each)) for each in (dash, ORDER)] == [dash, ORDER]
