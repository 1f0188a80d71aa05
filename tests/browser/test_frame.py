"""The studio's frame: rooms, keys, the finder, roles and themes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NARROW, OpenPage, RunningStudio

TABLES = ("ExchangeRates", "Market", "Pantry", "letsgo")
ROOMS = ("design", "items", "patterns", "edit", "role", "changes", "costs", "console")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("room", ROOMS)
def test_every_room_opens_on_every_design(
    studio: RunningStudio, open_page: OpenPage, table: str, room: str
) -> None:
    page = open_page(studio, f"/{table}/{room}")
    expect(page.locator(".nav a[aria-current]")).to_have_count(1)
    expect(page.locator("h1").first).to_be_visible()


def test_the_token_leaves_the_address(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio)
    assert "token" not in page.url


def test_keys_lead_to_rooms(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, "/Market/design")
    page.keyboard.press("g")
    page.keyboard.press("i")
    expect(page).to_have_url(re.compile("/Market/items"))


def test_the_finder_finds_a_pattern(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, "/Market/design")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Find").fill("last N orders")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/Market/patterns/last_orders"))


def test_a_role_is_chosen_and_left(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, "/Market/items")
    page.get_by_role("button", name="Act as a role").click()
    page.get_by_role("combobox", name="Role").select_option("customer")
    page.get_by_role("textbox", name="user").fill("rabinovich")
    page.get_by_role("button", name="Act as customer").click()
    expect(page).to_have_url(re.compile("as=customer"))
    page.get_by_role("button", name="Stop acting as customer").click()
    expect(page).not_to_have_url(re.compile("as="))


def test_themes_follow_the_system_or_a_choice(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, "/Market/design", theme="dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name=re.compile("^Theme")).click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_narrow_windows_have_tabs(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, "/Market/items", size=NARROW)
    expect(page.locator(".tabbar")).to_be_visible()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= NARROW[0]
