"""The room Console in a browser: plans, completion, runs, writes and history."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from keyfold.connect import open_executor
from tests.browser.accessibility import find_violations
from tests.browser.conftest import NARROW, OpenPage, RunningStudio

_HOSTILE = "<script>alert(1)</script>"
_ONE_RATE = "SELECT * FROM ExchangeRates WHERE PK = 'RATE#USD#EUR'"


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Statement")


def at(table: str, statement: str = "") -> str:
    return f"/{table}/console?sql={quote(statement)}"


@pytest.mark.parametrize("table", ["ExchangeRates", "Market", "Pantry", "letsgo"])
def test_examples_run_on_every_design(
    studio: RunningStudio, open_page: OpenPage, table: str
) -> None:
    page = open_page(studio, f"/{table}/console")
    examples = page.get_by_role("region", name="Examples").get_by_role("button")
    examples.first.click()
    page.keyboard.press("Control+Enter")
    result = page.get_by_role("region", name="Result")
    expect(result.get_by_role("status")).to_contain_text("1 item")
    expect(result.locator(".kind .mk")).to_have_count(1)
    expect(page.get_by_role("region", name="Plan")).to_contain_text("GetItem")


def test_a_statement_is_completed_planned_and_run_by_keys_alone(
    studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(studio, "/ExchangeRates/console")
    editor(page).focus()
    page.keyboard.type("sel")
    expect(page.get_by_role("option", name="SELECT")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.type("* FROM Exch")
    expect(page.get_by_role("option", name="ExchangeRates table")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type(" WHERE PK = 'RATE#USD#EUR'")
    expect(editor(page)).to_have_value(_ONE_RATE)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Shift+Enter")
    plan = page.get_by_role("region", name="Plan")
    expect(plan).to_contain_text("about 0.5 RU")
    expect(page.get_by_role("region", name="Result")).to_have_count(0)
    page.keyboard.press("Control+Enter")
    result = page.get_by_role("region", name="Result")
    expect(result).to_contain_text("1 item · 0.5 RU")
    expect(result.get_by_role("link")).to_have_attribute("href", re.compile("/items.*at=RATE"))
    result.get_by_role("button", name="Raw JSON").click()
    expect(result).to_contain_text('"PK"')
    history = page.get_by_role("region", name="History").get_by_role("button")
    expect(history.nth(1)).to_contain_text(_ONE_RATE)
    assert find_violations(page) == []


def test_a_link_fills_the_editor_and_runs_nothing(
    studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(studio, at("Market", "SELECT * FROM Market WHERE total > 100"))
    expect(editor(page)).to_have_value("SELECT * FROM Market WHERE total > 100")
    plan = page.get_by_role("region", name="Plan")
    expect(plan).to_contain_text("Scan")
    expect(plan).to_contain_text(re.compile(r"[\d.]+ RU for all"))
    expect(page.get_by_role("region", name="Result")).to_have_count(0)


def test_a_scan_of_more_than_10_units_asks(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, f"{at('Market', 'SELECT * FROM Market')}&limit=1000")
    expect(page.get_by_role("region", name="Plan")).to_contain_text("Scan")
    editor(page).press("Control+Enter")
    asking = page.get_by_role("region", name="Confirm")
    expect(asking).to_contain_text(re.compile(r"Scan may take about [\d.]+ RU"))
    asking.get_by_role("button", name="Run it all the same").click()
    expect(page.get_by_role("region", name="Result").locator(".kind").nth(3)).to_be_visible()


def test_pages_are_added(studio: RunningStudio, open_page: OpenPage) -> None:
    statement = "SELECT * FROM letsgo WHERE category = 'letsgo-identity'"
    page = open_page(studio, f"{at('letsgo', statement)}&limit=20")
    editor(page).press("Control+Enter")
    result = page.get_by_role("region", name="Result")
    expect(result.locator("tbody tr")).to_have_count(20)
    result.get_by_role("button", name="Next page").click()
    expect(result.locator("tbody tr")).to_have_count(40)
    expect(result).to_contain_text("40 items in 2 pages")


def test_errors_have_the_words_of_the_service(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, at("Market", "SELECT * FROM Market WHERE id LIKE 'x'"))
    editor(page).press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("Operator: like [ValidationException]")
    editor(page).fill("SELECT * FROM Pantry")
    editor(page).press("Control+Enter")
    page.get_by_role("button", name="Open it in the console of Pantry").click()
    expect(page).to_have_url(re.compile("/Pantry/console"))
    expect(editor(page)).to_have_value("SELECT * FROM Pantry")


@pytest.mark.parametrize("role", ["customer;user=rabinovich", "support"])
def test_a_role_is_denied_statements(studio: RunningStudio, open_page: OpenPage, role: str) -> None:
    page = open_page(studio, f"/Market/console?as={role}&sql=SELECT * FROM Market")
    expect(page.get_by_role("region", name="Plan")).to_contain_text("Scan")
    editor(page).press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("may not call PartiQLSelect")


def test_a_write_is_shown_confirmed_and_made(
    own_studio: RunningStudio, open_page: OpenPage
) -> None:
    assert own_studio.file is not None
    change = f"UPDATE ExchangeRates SET Stale = true, note = '{_HOSTILE}' WHERE PK = 'RATE#USD#EUR'"
    page = open_page(own_studio, at("ExchangeRates", change))
    editor(page).press("Control+Enter")
    preview = page.get_by_role("region", name="Change")
    expect(preview).to_contain_text("It reads this item first")
    expect(preview.get_by_role("row", name=re.compile("note"))).to_contain_text(_HOSTILE)
    assert find_violations(page) == []
    page.keyboard.press("Escape")
    expect(preview).to_have_count(0)
    editor(page).press("Control+Enter")
    preview.get_by_role("button", name="Update the item").click()
    expect(page.get_by_role("region", name="Result")).to_contain_text("Done.")
    with open_executor(str(own_studio.file), keeps_expired=True) as executor:
        request = {"TableName": "ExchangeRates", "Key": {"PK": {"S": "RATE#USD#EUR"}}}
        assert executor.execute("GetItem", request)["Item"]["note"] == {"S": _HOSTILE}
    editor(page).fill(_ONE_RATE)
    editor(page).press("Control+Enter")
    result = page.get_by_role("region", name="Result")
    expect(result.get_by_role("cell", name=_HOSTILE)).to_be_visible()


def test_a_narrow_window_scrolls_nothing_sideways(
    studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(studio, at("ExchangeRates", _ONE_RATE), size=NARROW, theme="dark")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("region", name="Result")).to_contain_text("1 item")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    assert find_violations(page) == []
