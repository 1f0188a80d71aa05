"""The room Edit in a browser: form, diff, save, undo, conflict, roles, many items, and files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from keyfold.engine import Engine
from keyfold.values import Item
from tests.browser.accessibility import find_violations
from tests.browser.conftest import (
    NARROW,
    WIDE,
    OpenPage,
    RunningStudio,
    running_studio,
)

USER = f"/Market/edit?at={quote('U#rabinovich~U#rabinovich')}"
ADDRESS = f"/Market/edit?at={quote('U#rabinovich~U#rabinovich#001')}"
AS_CUSTOMER = f"as={quote('customer;user=rabinovich')}"
HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>'


def stored(studio: RunningStudio, pk: str, sk: str) -> Item | None:
    """Return an item of the market, as another process sees it."""
    with Engine.open(str(studio.file)) as engine:
        key = {"pk": {"S": pk}, "sk": {"S": sk}}
        found = engine.execute("GetItem", {"TableName": "Market", "Key": key}).get("Item")
        return cast("Item | None", found)


def put(studio: RunningStudio, item: Item) -> None:
    """Write an item from another process."""
    with Engine.open(str(studio.file)) as engine:
        engine.execute("PutItem", {"TableName": "Market", "Item": item})


def side(page: Page) -> Locator:
    """Return the pane with what a save does."""
    return page.get_by_label("What a save does")


def test_an_item_is_changed_and_undone_by_keyboard(
    own_studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(own_studio, USER)
    before = stored(own_studio, "U#rabinovich", "U#rabinovich")
    assert before is not None
    page.locator("#field-name").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("Rabinovich the Younger")
    expect(side(page)).to_contain_text("1 field")
    expect(page.locator(".frow.draft")).to_contain_text("draft")
    page.keyboard.press("Control+s")
    expect(page.get_by_role("button", name="Save")).to_be_focused()
    expect(side(page).get_by_role("status").last).to_contain_text("1 field")
    page.keyboard.press("Control+s")
    expect(side(page)).to_contain_text("Saved this User")
    changed = stored(own_studio, "U#rabinovich", "U#rabinovich")
    assert changed == {**before, "name": {"S": "Rabinovich the Younger"}}
    page.keyboard.press("Control+z")
    expect(side(page)).to_contain_text("the former state is back")
    expect(page.locator("#field-name")).to_have_value(before["name"]["S"])
    assert stored(own_studio, "U#rabinovich", "U#rabinovich") == before


def test_the_diff_shows_index_entries_and_unique_values(
    studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(studio, USER)
    page.locator("#field-id").fill("someone-else@example.com")
    expect(side(page)).to_contain_text("moves to")
    expect(side(page)).to_contain_text("IdLookupIndex")
    expect(side(page)).to_contain_text("is released")
    expect(side(page)).to_contain_text("10 WU")
    page.locator("#field-id").fill("")
    expect(side(page)).to_contain_text("vanishes")
    # A draft outlives a visit to another room.
    page.get_by_role("link", name="Items", exact=True).first.click()
    page.get_by_role("link", name="Edit", exact=True).first.click()
    expect(page.get_by_role("heading", name=re.compile("Drafts"))).to_be_visible()
    page.locator(".history a").first.click()
    expect(page.locator("#field-id")).to_have_value("")
    expect(page.locator(".bar")).to_contain_text("draft")


def test_a_conflict_keeps_what_was_typed(own_studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(own_studio, ADDRESS, expected_errors=("409",))
    page.locator("#field-city").fill("Mine")
    expect(side(page)).to_contain_text("1 field")
    before = stored(own_studio, "U#rabinovich", "U#rabinovich#001")
    assert before is not None
    put(own_studio, {**before, "street": {"S": "Their street 1"}})
    page.get_by_role("button", name="Save").click()
    conflict = page.get_by_label("Conflict", exact=True)
    expect(conflict).to_contain_text("Someone changed this Address since you read it")
    expect(conflict.locator("tbody tr")).to_have_count(2)
    expect(page.locator("#field-city")).to_have_value("Mine")
    assert find_violations(page) == []
    conflict.get_by_role("button", name="Use these values").click()
    expect(page.locator("#field-street")).to_have_value("Their street 1")
    expect(page.locator("#field-city")).to_have_value("Mine")
    page.get_by_role("button", name="Save").click()
    expect(side(page)).to_contain_text("Saved this Address")
    after = stored(own_studio, "U#rabinovich", "U#rabinovich#001")
    assert after == {**before, "street": {"S": "Their street 1"}, "city": {"S": "Mine"}}
    # Once somebody else has changed it, there is nothing to undo.
    assert after is not None
    put(own_studio, {**after, "city": {"S": "Theirs"}})
    page.get_by_role("button", name="Undo").click()
    expect(side(page)).to_contain_text("Nothing was undone")
    now = stored(own_studio, "U#rabinovich", "U#rabinovich#001")
    assert now is not None
    assert now["city"] == {"S": "Theirs"}


def test_an_item_is_created_and_deleted(own_studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(own_studio, "/Market/edit", expected_errors=("422",))
    page.get_by_role("link", name="Product").click()
    page.locator("#field-user").fill("rabinovich")
    page.locator("#field-price").fill("-1")
    expect(page.locator(".frow.bad")).to_contain_text("greater than or equal to 0")
    page.locator("#field-price").fill("12345678901234567890.12345678901234567")
    expect(page.locator(".frow.bad")).to_have_count(0)
    page.get_by_label("Name of a new attribute").fill("tags")
    page.keyboard.press("Enter")
    page.get_by_label("Type of tags").select_option("SS")
    page.get_by_label("Add to tags").fill("blue")
    page.keyboard.press("Enter")
    page.get_by_label("Add to tags").fill("red")
    page.keyboard.press("Enter")
    expect(side(page)).to_contain_text("appears as")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name=re.compile("Edit"))).to_be_visible()
    sort_key = page.locator("#field-product").input_value()
    made = stored(own_studio, "U#rabinovich#P", sort_key)
    assert made is not None
    assert made["price"] == {"N": "12345678901234567890.12345678901234567"}
    assert made["tags"] == {"SS": ["blue", "red"]}
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("vanishes")
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".undo-place")).to_contain_text("Deleted a Product")
    assert stored(own_studio, "U#rabinovich#P", sort_key) is None
    page.keyboard.press("Control+z")
    expect(page.locator("#field-product")).to_have_value(sort_key)
    assert stored(own_studio, "U#rabinovich#P", sort_key) == made


def test_the_raw_editor_says_where_it_is_wrong(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, USER)
    page.get_by_role("button", name="Raw").click()
    area = page.get_by_label("The item in DynamoDB's JSON")
    text = area.input_value()
    area.fill(text.replace('"name"', '"name'))
    expect(page.locator("#raw-errors")).to_contain_text("line")
    area.fill(text.replace('{"S": "user"}', '{"S": "nobody"}'))
    expect(page.locator("#raw-errors")).to_contain_text("Input should be 'user'")
    area.fill(text.replace("Rabinovich", "R."))
    expect(side(page)).to_contain_text("1 field")
    page.get_by_role("button", name="Form").click()
    expect(page.locator("#field-name")).to_have_value(re.compile("^R."))


def test_a_role_edits_what_is_its_own(own_studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(own_studio, f"{ADDRESS}&{AS_CUSTOMER}", expected_errors=("403",))
    page.locator("#field-city").fill("Lviv")
    expect(side(page)).to_contain_text("1 field")
    page.get_by_role("button", name="Save").click()
    expect(side(page)).to_contain_text("Saved this Address")
    page.goto(f"{own_studio.origin}{USER}&{AS_CUSTOMER}")
    page.locator("#field-id").fill("chosen@example.com")
    expect(side(page)).to_contain_text("is taken")
    page.get_by_role("button", name="Save").click()
    expect(side(page)).to_contain_text("customer may not take or release unique values of User.id")
    expect(side(page)).to_contain_text("Your draft is kept")
    expect(page.locator("#field-id")).to_have_value("chosen@example.com")
    other = f"/Market/edit?entity=Product&{AS_CUSTOMER}"
    page.goto(own_studio.origin + other)
    page.locator("#field-user").fill("rabinovich")
    page.locator("#field-name").fill("Contraband")
    page.get_by_role("button", name="Create").click()
    expect(side(page)).to_contain_text("products: customer lacks")


def test_hidden_fields_stay_hidden_and_read_only_roles_are_denied(
    studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(studio, "/Market/items?only=Payment", expected_errors=("403",))
    page.locator(".card").first.click()
    at = page.url.split("at=")[1].split("&")[0]
    page.goto(f"{studio.origin}/Market/edit?at={at}&as=support")
    expect(page.locator(".pane")).to_contain_text("hidden from this role")
    page.locator("#field-amount").fill("1")
    page.get_by_role("button", name="Save").click()
    expect(side(page)).to_contain_text("support lacks update")


def test_a_hostile_item_is_edited_as_text(own_studio: RunningStudio, open_page: OpenPage) -> None:
    key = {"pk": {"S": f"U#{HOSTILE}"}, "sk": {"S": f"U#{HOSTILE}"}}
    deep: Any = {"S": HOSTILE}
    for _ in range(25):
        deep = {"M": {HOSTILE: deep}}
    put(own_studio, {**key, "name": {"S": HOSTILE}, HOSTILE: deep, "big": {"S": "x" * 300_000}})
    page = open_page(own_studio, f"/Market/edit?at={quote(f'U#{HOSTILE}~U#{HOSTILE}')}")
    expect(page.locator("#field-name")).to_have_value(HOSTILE)
    expect(page.locator(".pane")).to_contain_text("Edit 300.0 KB")
    page.locator("#field-name").fill(f"{HOSTILE}!")
    expect(side(page).locator("tbody")).to_contain_text(HOSTILE)
    assert page.locator("img[src=x]").count() == 0
    page.get_by_role("button", name="Save").click()
    expect(side(page)).to_contain_text("Saved this User")
    after = stored(own_studio, f"U#{HOSTILE}", f"U#{HOSTILE}")
    assert after is not None
    assert after["name"] == {"S": f"{HOSTILE}!"}
    assert after[HOSTILE] == deep


def test_many_items_are_changed_after_their_number_is_typed(
    own_studio: RunningStudio, open_page: OpenPage
) -> None:
    where = quote("user = rabinovich")
    page = open_page(own_studio, f"/Market/edit/bulk?entity=Product&where={where}")
    page.get_by_label("Field").select_option("price")
    page.get_by_label("New value of price").fill("7.77")
    page.get_by_role("button", name="Preview").click()
    count = int(page.locator(".figure").inner_text())
    assert count > 0
    expect(page.locator(".examples li")).to_have_count(min(10, count))
    page.get_by_label("type their number").fill(str(count + 1))
    page.keyboard.press("Enter")
    expect(page.locator(".note.ok")).to_have_count(0)
    page.get_by_label("type their number").fill(str(count))
    page.keyboard.press("Enter")
    expect(page.locator(".note.ok")).to_contain_text(f"{count} changed")
    assert find_violations(page) == []
    page.get_by_role("link", name="Back to Edit").click()
    expect(page.locator(".history li")).to_have_count(1)
    page.locator(".history").get_by_role("button", name="Undo").click()
    expect(page.locator(".history")).to_have_count(0)
    with Engine.open(str(own_studio.file)) as engine:
        items = engine.execute("Scan", {"TableName": "Market"})["Items"]
    assert all(item.get("price") != {"N": "7.77"} for item in items)


def test_a_csv_file_makes_a_round_trip(
    own_studio: RunningStudio, open_page: OpenPage, tmp_path: Path
) -> None:
    awkward = 'Main, "1"\nback yard'
    key = {"pk": {"S": "U#rabinovich"}, "sk": {"S": "U#rabinovich#009"}}
    item: Item = {**key, "street": {"S": awkward}, "city": {"S": ""}, "country": {"S": "UA"}}
    put(own_studio, {**item, "more": {"BS": [b"\x00"]}})
    page = open_page(own_studio, "/Market/edit/export?form=csv&entity=Address")
    page.get_by_role("button", name="Export").click()
    expect(page.locator(".figure")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save Address.csv").click()
    file = tmp_path / "Address.csv"
    download.value.save_as(file)
    with Engine.open(str(own_studio.file)) as engine:
        engine.execute("DeleteItem", {"TableName": "Market", "Key": key})
    page.goto(f"{own_studio.origin}/Market/edit/import")
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_label("Entity")).to_have_value("Address")
    page.get_by_label("Replace items that exist already").check()
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_role("button", name="Import 1 item")).to_be_visible()
    assert stored(own_studio, "U#rabinovich", "U#rabinovich#009") is None
    page.get_by_role("button", name="Import 1 item").click()
    expect(page.get_by_text("were written")).to_be_visible()
    assert stored(own_studio, "U#rabinovich", "U#rabinovich#009") == {
        **item,
        "more": {"BS": [b"\x00"]},
    }


def test_a_read_only_studio_has_no_write_controls(
    studio: RunningStudio, open_page: OpenPage
) -> None:
    with running_studio(str(studio.file), "--read-only") as limited:
        page = open_page(limited, USER)
        expect(page.locator(".bar")).to_contain_text("started with --read-only")
        expect(page.locator(".pane")).to_contain_text("Rabinovich")
        expect(page.get_by_role("button", name="Delete")).to_have_count(0)
        expect(page.get_by_role("button", name="Save")).to_have_count(0)
        expect(page.locator(".pane input")).to_have_count(0)
        page.goto(f"{limited.origin}/Market/edit")
        expect(page.get_by_role("link", name=re.compile("Export"))).to_be_visible()
        expect(page.get_by_role("link", name=re.compile("Import"))).to_have_count(0)


PLACES = [
    USER,
    "/Market/edit",
    "/Market/edit?entity=Cart",
    "/Market/edit/bulk",
    "/Market/edit/import",
    "/Market/edit/export",
    f"/Pantry/edit?at={quote('Category~Category')}",
    "/letsgo/edit?entity=Tenant",
    "/ExchangeRates/edit?entity=Rate",
]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_stands_in_the_way_of_people(
    studio: RunningStudio, open_page: OpenPage, theme: str
) -> None:
    page: Page = open_page(studio, theme=theme)
    for place in PLACES:
        for width, height in (WIDE, NARROW):
            page.set_viewport_size({"width": width, "height": height})
            page.goto(studio.origin + place)
            check_page(page, place)


def check_page(page: Page, place: str) -> None:
    """Fail for what axe-core finds, and for a page that scrolls sideways."""
    page.wait_for_selector(".sec")
    expect(page.locator("[aria-busy]")).to_have_count(0)
    assert find_violations(page) == [], place
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth"), place
    inner = page.evaluate(
        "[...document.querySelectorAll('.main, .pane, .split')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1).length"
    )
    assert inner == 0, place
