"""The room of items in a browser: bands, cards, indexes, filters, the inspector, and keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from keyfold.engine import Engine
from tests.browser.accessibility import find_violations
from tests.browser.conftest import NARROW, WIDE, OpenPage, RunningStudio

USER = "/Market/items?where=user+%3D+rabinovich"
AS_CUSTOMER = f"as={quote('customer;user=rabinovich')}"
HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>'


def active(page: Page) -> str:
    """Return the label of the element that has the focus."""
    return page.evaluate("document.activeElement.getAttribute('aria-label') ?? ''")


def test_a_filter_shows_all_that_a_user_has(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, "/Market/items")
    page.get_by_label("Filter by key, field or text").fill("user = rabinovich")
    page.keyboard.press("Enter")
    expect(page.locator(".band .shard")).to_have_text(
        ["profile", "orders", "products", "rewards", "billing"]
    )
    expect(page).to_have_url(re.compile("where=user"))
    expect(page.locator(".banner")).to_contain_text("Found by key")
    orders = page.get_by_label("partition U#rabinovich#O")
    expect(orders.locator(".card").first).to_contain_text("Order")
    expect(orders.locator(".barcode i").first).to_be_visible()


def test_an_item_says_why_it_is_not_in_an_index(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, f"{USER}&only=Product")
    page.locator(".card").first.click()
    pane = page.get_by_label("Selected item")
    expect(pane.locator(".where")).to_contain_text("a Product is in it when both are set")
    expect(pane.locator(".cond")).to_contain_text("idnot set")
    pane.get_by_role("link", name="IdLookupIndex").click()
    expect(page.locator(".hint")).to_contain_text("Sparse index")
    expect(page.locator(".mem")).to_contain_text("id is not set on any")
    expect(page.locator(".ghost")).to_contain_text("not here: id is not set")


def test_an_index_shows_who_is_in_it(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, "/Market/items?through=IdLookupIndex")
    expect(page.locator(".mem tr").filter(has_text="OrderLine")).to_contain_text(
        "has no id and no tp: can never be here"
    )
    expect(page.locator(".hint")).to_contain_text("live items are")
    expect(
        page.get_by_role("region", name="items in IdLookupIndex").locator("tr")
    ).not_to_have_count(0)


def test_references_are_followed(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, f"{USER}&only=Bill")
    page.locator(".card").first.click()
    pane = page.get_by_label("Selected item")
    pane.locator(".refs").get_by_role("link", name=re.compile("^U#rabinovich#O")).click()
    expect(pane.locator(".subject")).to_have_text(re.compile("Order$"))
    expect(page.locator(".card[aria-current]")).to_contain_text("Order")
    page.go_back()
    expect(pane.locator(".subject")).to_have_text(re.compile("Bill$"))


def test_a_link_to_an_item_shows_it_in_its_partition(
    studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(studio, f"/Market/items?at={quote('U#rabinovich~U#rabinovich')}")
    expect(page.locator(".card[aria-current]")).to_contain_text("Rabinovich")
    expect(page.get_by_label("Selected item").locator(".kv")).to_contain_text("Rabinovich")
    link = page.get_by_label("Selected item").get_by_role("link", name="Edit")
    expect(link).to_have_attribute("href", re.compile(r"/Market/edit\?at=U%23rabinovich%7EU"))


def test_rows_and_raw(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, USER)
    page.get_by_role("button", name="Rows").click()
    orders = page.get_by_role("region", name="Order, its items")
    expect(orders.locator("th")).to_contain_text(["user", "order", "total"])
    orders.locator("tbody button").first.click()
    expect(page.get_by_label("Selected item")).to_contain_text("as Order")
    page.get_by_role("button", name="Raw").click()
    expect(page.locator(".rawlist li").first).to_contain_text('{"pk":{"S":"U#rabinovich"')
    expect(page.get_by_label("Selected item").locator(".code")).to_contain_text('"S": "U#rab')


def test_the_room_without_a_mouse(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, USER)
    expect(page.locator(".card").first).to_be_visible()
    profile = page.get_by_label("partition U#rabinovich", exact=True)
    expect(profile.locator(".card[tabindex='0']")).to_have_count(1)
    profile.locator(".card[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".card:focus")).to_have_attribute("aria-label", re.compile("^Order, "))
    page.keyboard.press("End")
    orders = page.get_by_label("partition U#rabinovich#O")
    expect(orders.locator("li:has(:focus)")).to_have_attribute(
        "aria-posinset",
        orders.locator("li[aria-setsize]").first.get_attribute("aria-setsize") or "",
    )
    page.keyboard.press("Home")
    expect(orders.locator("li:has(:focus)")).to_have_attribute("aria-posinset", "1")
    first = active(page)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Selected item").locator(".refs")).to_be_visible()
    page.keyboard.press("f")
    expect(page.get_by_role("dialog", name="Follow a reference")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.get_by_label("Selected item")).to_have_count(0)
    assert active(page) == first
    page.keyboard.press("]")
    expect(page).to_have_url(re.compile("through=ReverseIndex"))
    page.keyboard.press("[")
    page.keyboard.press("2")
    expect(page).to_have_url(re.compile("layout=rows"))
    page.keyboard.press("/")
    expect(page.get_by_label("Filter by key, field or text")).to_be_focused()


def test_a_customer_sees_locks(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, f"/Market/items?{AS_CUSTOMER}")
    billing = page.get_by_label("partition U#rabinovich#B")
    expect(billing).to_contain_text("billing: customer lacks query")
    expect(billing.locator(".card")).to_have_count(0)
    expect(page.get_by_label("partition U#rabinovich#O").locator(".card").first).to_be_visible()
    expect(page.locator(".legend li").filter(has_text="Bill")).to_contain_text("0")


def test_support_sees_no_cards_of_payers(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, f"{USER}&only=Payment&as=support")
    page.locator(".card").first.click()
    pane = page.get_by_label("Selected item")
    expect(pane.locator(".kv")).to_contain_text("hidden from this role")


@pytest.mark.parametrize(
    ("table", "principal"),
    [
        ("Market", "visitor"),
        ("Market", "fulfilment"),
        ("Pantry", "service"),
        ("ExchangeRates", "reader"),
        ("letsgo", "identity;identity_id=nobody"),
    ],
)
def test_the_room_opens_as_every_kind_of_role(
    studio: RunningStudio, open_page: OpenPage, table: str, principal: str
) -> None:
    page = open_page(studio, f"/{table}/items?as={quote(principal)}")
    expect(page.locator(".pane[aria-busy]")).to_have_count(0)
    expect(page.locator(".banner, .band, .entitytable, .empty, .note").first).to_be_visible()


def test_the_legend_filters(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, "/Market/items")
    page.get_by_role("button", name="Reward", exact=False).first.click()
    expect(page).to_have_url(re.compile("only=Reward"))
    expect(page.locator(".band .card").first).to_contain_text("Reward")
    page.get_by_role("button", name="Show other entities than Reward, too").click()
    expect(page).not_to_have_url(re.compile("only=Reward"))


def test_hostile_items_are_text(own_studio: RunningStudio, open_page: OpenPage) -> None:
    assert own_studio.file is not None
    put_hostile(own_studio.file)
    page = open_page(own_studio, f"/Market/items?where={quote('user = evil')}")
    card = page.locator(".card", has_text="User").first
    expect(card).to_contain_text("<script>alert(2)</script>")
    card.click()
    pane = page.get_by_label("Selected item")
    expect(pane).to_contain_text(HOSTILE)
    assert page.locator("img").count() == 0
    for layout in ("Rows", "Raw"):
        page.get_by_role("button", name=layout).click()
        expect(page.locator(".split")).to_contain_text("onerror=alert(1)")
    page.get_by_role("button", name="Cards").click()
    page.locator(".card", has_text="Cart").first.click()
    pane.get_by_role("button", name=re.compile("KB$")).click()
    viewer = page.get_by_role("dialog")
    expect(viewer).to_contain_text("350,000 characters")
    viewer.get_by_role("button", name="All").click()
    expect(viewer.get_by_role("button", name="Save as a file")).to_be_visible()
    assert len(viewer.locator("pre").inner_text()) == 350_000


def put_hostile(file: Path) -> None:
    """Write items of a user whose texts would run, if anything ran them."""
    deep: dict[str, Any] = {"S": HOSTILE}
    for _ in range(30):
        deep = {"M": {HOSTILE: deep}}
    with Engine.open(file) as engine:
        user = {"pk": {"S": "U#evil"}, "sk": {"S": "U#evil"}, "name": {"S": HOSTILE}}
        engine.execute(
            "PutItem", {"TableName": "Market", "Item": {**user, HOSTILE: {"S": HOSTILE}, "d": deep}}
        )
        cart = {"pk": {"S": "U#evil"}, "sk": {"S": "C#01JZ10H7X367VB2NF4YQ973DHV"}}
        huge = {"S": "<b>" + "x" * 349_997}
        engine.execute("PutItem", {"TableName": "Market", "Item": {**cart, "note": huge}})
        engine.execute(
            "PutItem",
            {"TableName": "Market", "Item": {"pk": {"S": HOSTILE}, "sk": {"S": HOSTILE}}},
        )


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_no_barriers(
    studio: RunningStudio, open_page: OpenPage, size: tuple[int, int], theme: str
) -> None:
    page = open_page(studio, USER, size=size, theme=theme)
    page.locator(".card").first.click()
    expect(page.get_by_label("Selected item").locator(".refs")).to_be_visible()
    assert find_violations(page) == []
    for path in (
        "/Market/items?through=IdLookupIndex",
        f"/Market/items?{AS_CUSTOMER}",
        f"{USER}&layout=rows",
    ):
        page.goto(studio.origin + path)
        expect(page.locator(".band, .entitytable, .mem").first).to_be_visible()
        assert find_violations(page) == []


def test_nothing_scrolls_sideways_on_a_telephone(
    studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(studio, USER, size=NARROW)
    page.get_by_label("partition U#rabinovich#O").locator(".card").first.click()
    sheet = page.get_by_label("Selected item")
    expect(sheet).to_contain_text("Where this item lies")
    box = sheet.bounding_box()
    assert box is not None
    assert box["y"] > 300
    # The card stays visible above the sheet.
    card = page.locator(".card[aria-current]").bounding_box()
    assert card is not None
    assert card["y"] + card["height"] <= box["y"] + 1
    page.get_by_role("button", name="Make the pane larger").click()
    expect(page.get_by_role("button", name="Make the pane smaller")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    assert page.evaluate("document.querySelector('.pane').scrollWidth") <= NARROW[0]
