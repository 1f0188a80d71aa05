"""The room "Changes" in a browser: what one page writes appears in another, with its diff."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import keyfold
from keyfold.designs import market
from keyfold.store import Store
from tests.browser.accessibility import find_violations
from tests.browser.conftest import NARROW, OpenPage, RunningStudio

ADDRESS = {
    "address": {
        "user": "rabinovich",
        "number": 7,
        "street": "Deribasivska 1",
        "city": "Odesa",
        "country": "UA",
    }
}
SCRIPT = "<script>alert('x')</script>"


def open_store(studio: RunningStudio) -> Store:
    """Return a store of the studio's database, as another process has one."""
    return keyfold.open(market.table, str(studio.file))


def make_reward(**fields: Any) -> market.Reward:
    values: dict[str, Any] = {
        "user": "rabinovich",
        "reward": market.RewardId("R#01JZ10H7X367VB2NF4YQ973ZZZ"),
        "amount": 5,
        "reason": "order",
    }
    return market.Reward(**{**values, **fields})


def watch(page: Page) -> None:
    """Wait until the page sees what is written from now on."""
    expect(page.locator(".livestate")).to_have_text("live")


def test_what_one_page_writes_appears_in_another(
    own_studio: RunningStudio, open_page: OpenPage
) -> None:
    watching = open_page(own_studio, "/Market/changes")
    watch(watching)
    writing = open_page(own_studio, "/Market/items")
    # As the room of patterns sends it.
    answer = writing.evaluate(
        """async (body) => (await (await fetch("/api/patterns/write", {method: "POST",
            headers: {"content-type": "application/json"}, body})).json())""",
        json.dumps(
            {"table": "Market", "pattern": "save_address", "arguments": json.dumps(ADDRESS)}
        ),
    )
    assert "error" not in answer, answer
    row = watching.locator(".change", has_text="Address")
    expect(row).to_contain_text("created")
    row.locator(".changerow").click()
    expect(row.locator(".difftable")).to_contain_text("Deribasivska 1")


def test_a_change_shows_old_and_new_and_can_be_filtered(
    own_studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(own_studio, "/Market/changes")
    watch(page)
    with open_store(own_studio) as store:
        store.run(make_reward().put())
        store.run(make_reward(amount=7, reason=SCRIPT).put())
        store.run(market.revoke_reward(user="rabinovich", reward=make_reward().reward))
    rows = page.locator(".change")
    expect(rows).to_have_count(3)
    changed = page.locator('.change[data-kind="changed"]')
    changed.locator(".changerow").click()
    expect(changed.locator("tr", has_text="amount")).to_contain_text("57")
    expect(changed.locator("tr", has_text="reason")).to_contain_text(SCRIPT)
    page.get_by_label("Kind").select_option("removed")
    expect(rows).to_have_count(1)
    expect(page).to_have_url(re.compile("kind=removed"))
    page.get_by_label("Kind").select_option("")
    page.get_by_label("Filter by text").fill("alert")
    expect(rows).to_have_count(2)
    page.get_by_label("Entity").select_option("Order")
    expect(page.locator(".changespane")).to_contain_text("No change matches the filter")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".changespane")).to_contain_text("No changes since")


def test_pause_gathers_and_resume_shows(own_studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(own_studio, "/Market/changes")
    watch(page)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".livestate")).to_have_text("paused")
    with open_store(own_studio) as store:
        store.run(make_reward().put())
    resume = page.get_by_role("button", name="Resume (1 new)")
    expect(resume).to_be_visible()
    expect(page.locator(".change")).to_have_count(0)
    resume.click()
    expect(page.locator(".change")).to_have_count(1)


def test_a_principal_sees_only_its_own_changes(
    own_studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(own_studio, "/Market/changes?as=customer;user=rabinovich")
    watch(page)
    with open_store(own_studio) as store:
        store.run(make_reward(user="eve").put())
        store.run(make_reward().put())
    expect(page.locator(".change")).to_have_count(1)
    expect(page.locator(".change")).to_contain_text("rabinovich")
    page.get_by_role("button", name="Dead letters").click()
    expect(page.get_by_role("alert")).to_contain_text("only the administrator")


def test_another_role_sees_others(own_studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(own_studio, "/Market/changes?as=seller;user=eve")
    watch(page)
    with open_store(own_studio) as store:
        store.run(make_reward(user="eve").put())
        product = market.ProductId("I#01JZ10H7X367VB2NF4YQ973ZZZ")
        store.run(market.Product(user="eve", product=product, name="Lamp", price=3).put())  # pyright: ignore[reportArgumentType] - pydantic converts it
    expect(page.locator(".change")).to_have_count(1)
    expect(page.locator(".change")).to_contain_text("Product")


def test_a_table_without_a_stream_is_offered_one(
    own_studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(own_studio, "/Pantry/changes")
    expect(page.locator(".main")).to_contain_text("The stream of Pantry is off")
    page.get_by_role("button", name="Switch it on").click()
    expect(page.locator(".livestate")).to_have_text("live")


def test_the_oldest_changes_are_there_and_bounded(
    studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(studio, "/Market/changes?from=oldest")
    expect(page.locator(".changesend")).to_contain_text("The newest 500 are kept")
    rows = page.locator(".changerow")
    first = rows.first
    first.focus()
    page.keyboard.press("ArrowDown")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(rows.nth(1)).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("End")
    expect(rows.last).to_be_focused()


def follow(studio: RunningStudio) -> None:
    command = [sys.executable, "-m", "keyfold", "stream", "follow", "market"]
    options = ["--db", str(studio.file), "--until-caught-up", "--attempts", "1"]
    subprocess.run([*command, *options], check=True, capture_output=True)


def test_dead_letters_are_shown_and_retried(own_studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(own_studio, "/Market/changes?view=letters")
    expect(page.locator(".main")).to_contain_text("No follower of Market has run yet")
    order = market.OrderId("O#01JZ10H7X367VB2NF4YQ973ZZZ")
    with open_store(own_studio) as store:
        # An order without a total has no bill.
        store.run(market.Order(user="rabinovich", order=order, status="placed").put())
    follow(own_studio)
    page.reload()
    letter = page.locator(".letter", has_text="ZZZ")
    expect(letter).to_contain_text("bill_order")
    expect(letter).to_contain_text("FieldNotRecorded")
    assert find_violations(page) == []
    with open_store(own_studio) as store:
        store.run(market.record_total(user="rabinovich", order=order, total=12))  # pyright: ignore[reportArgumentType] - pydantic converts it
    letter.get_by_role("button", name="Retry").click()
    expect(page.locator(".main")).to_contain_text("1 dead letter marked for retry")
    expect(letter).to_contain_text("retrying")
    follow(own_studio)
    page.get_by_role("button", name="Read again").click()
    expect(letter).to_have_count(0)


def test_a_lost_connection_is_told_and_made_again(
    own_studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(own_studio, "/Market/changes", expected_errors=("ERR_", "net::"))
    watch(page)
    page.context.set_offline(True)
    page.route("**/events/**", lambda route: route.abort())
    page.evaluate("dispatchEvent(new Event('offline'))")
    # A stream that is open stays so: the room opens another one when its filters change.
    page.get_by_role("button", name="From the oldest").click()
    expect(page.locator(".livestate")).to_contain_text(re.compile(r"reconnecting, last seen \d+ s"))
    page.unroute("**/events/**")
    page.context.set_offline(False)
    expect(page.locator(".livestate")).to_have_text("live")


def open_first_change(page: Page) -> None:
    """Open the first change, once no more arrive: rows that move would be missed by a click."""
    rows = page.locator(".changerow")
    rows.first.wait_for()
    while True:
        before = rows.count()
        page.wait_for_function("() => new Promise((done) => setTimeout(() => done(true), 700))")
        if rows.count() == before:
            break
    rows.first.click()
    expect(page.locator(".difftable")).to_be_visible()


@pytest.mark.parametrize(
    ("path", "theme"),
    [
        ("/Market/changes?from=oldest&entity=Account", "light"),
        ("/Market/changes?from=oldest&entity=Account", "dark"),
        ("/ExchangeRates/changes", "light"),
    ],
)
def test_axe_finds_nothing(
    studio: RunningStudio, open_page: OpenPage, path: str, theme: str
) -> None:
    page = open_page(studio, path, theme=theme)
    expect(page.locator(".changelist, .empty").first).to_be_visible()
    if "oldest" in path:
        open_first_change(page)
    assert find_violations(page) == []


def test_it_fits_into_a_narrow_window(studio: RunningStudio, open_page: OpenPage) -> None:
    path = "/Market/changes?from=oldest&as=customer;user=rabinovich"
    page = open_page(studio, path, size=NARROW)
    open_first_change(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    assert find_violations(page) == []
