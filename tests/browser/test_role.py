"""The room "As a role" in a browser: matrix, attempts, and acting as a role."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import find_violations
from tests.browser.conftest import NARROW, WIDE, OpenPage, RunningStudio

CUSTOMER = "/Market/role/customer?user=rabinovich"


def test_a_denied_attempt_says_what_is_missing(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, f"{CUSTOMER}&try=grant_reward")
    attempt = page.locator(".attempt")
    expect(attempt).to_contain_text("rewards: customer lacks create")
    expect(attempt.locator(".trace li")).to_contain_text(["Key", "Tenant", "Right"])
    expect(attempt.locator(".trace li.bad")).to_contain_text("create is needed; it has get, query")
    expect(attempt.locator(".diff .add")).to_contain_text("rewards: READ | Right.CREATE")
    cell = page.get_by_role("button", name="create in rewards: denied. Try it")
    expect(cell).to_have_attribute("aria-current", "true")
    attempt.get_by_role("link", name="Try it as fulfilment").click()
    expect(page).to_have_url(re.compile("/Market/role/fulfilment.*try=grant_reward"))
    expect(page.locator(".attempt")).to_contain_text("grant_reward runs")


def test_a_cell_is_tried_and_in_the_address(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, CUSTOMER)
    page.get_by_role("button", name="query in orders: allowed. Try it").click()
    expect(page).to_have_url(re.compile("right=query&area=orders|area=orders.*right=query"))
    expect(page.locator(".attempt")).to_contain_text("customer may query orders")
    expect(page.locator(".trace li.ok")).to_have_count(3)


def test_any_key_can_be_tried(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, CUSTOMER)
    page.get_by_text("Try any key").click()
    page.get_by_label("pk").fill("U#<script>alert(1)</script>#O")
    page.get_by_role("button", name="Try as customer").click()
    attempt = page.locator(".attempt")
    expect(attempt).to_contain_text("customer may only use partitions of its own user")
    expect(attempt.locator(".trace")).to_contain_text("<script>alert(1)</script>")
    expect(attempt.locator(".trace li.bad")).to_contain_text("Tenant")


def test_patterns_are_listed_with_reasons(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, CUSTOMER)
    lists = page.locator(".patternlists")
    expect(lists).to_contain_text("patterns run")
    expect(lists.get_by_role("link", name="payments")).to_contain_text("billing: lacks query")
    lists.get_by_role("link", name="payments").click()
    expect(page.locator(".attempt")).to_contain_text("billing: customer lacks query")


def test_acting_as_the_role_holds_in_every_room(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, CUSTOMER)
    page.get_by_role("button", name="Act as customer").click()
    expect(page).to_have_url(re.compile("as=customer"))
    expect(page.get_by_role("button", name="Stop acting as customer")).to_be_visible()
    page.get_by_role("link", name="Items").first.click()
    expect(page).to_have_url(re.compile("/Market/items.*as=customer"))


def test_the_policy_is_shown_with_its_gaps(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, "/Market/role/support")
    policy = page.locator(".policy")
    expect(policy.locator(".gap").first).to_contain_text("wider")
    policy.get_by_role("button", name="Show JSON").click()
    expect(policy.get_by_label("The policy", exact=True)).to_contain_text('"Version": "2012-10-17"')


def test_a_tenant_is_suggested_and_changed(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, "/Market/role/customer")
    expect(page).to_have_url(re.compile("user=rabinovich"))
    field = page.get_by_label("Tenant: user")
    field.fill("somebody-else")
    field.press("Enter")
    expect(page).to_have_url(re.compile("user=somebody-else"))
    expect(page.locator(".mx")).to_contain_text("U#somebody-else#O")


def test_an_id_that_keys_cannot_have_is_refused(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, "/Market/role/customer?user=a%2A")
    expect(page.get_by_role("alert").first).to_contain_text("contains '*'")


def test_the_matrix_is_used_by_keys_alone(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, CUSTOMER)
    first = page.get_by_role("button", name="get in profile: allowed. Try it")
    expect(first).to_be_visible()
    page.get_by_label("Tenant: user").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(first).to_be_focused()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.get_by_role("button", name="create in rewards: denied. Try it")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".attempt")).to_contain_text("rewards: customer lacks create")


@pytest.mark.parametrize(
    ("path", "theme"),
    [
        (f"{CUSTOMER}&try=grant_reward", "light"),
        ("/Market/role/support?try=cancel_order", "dark"),
        ("/Pantry/role/keeper", "light"),
        ("/letsgo/role/tenant-member", "dark"),
        ("/ExchangeRates/role/reader?try=save", "light"),
    ],
)
def test_axe_finds_nothing(
    studio: RunningStudio, open_page: OpenPage, path: str, theme: str
) -> None:
    page = open_page(studio, path, theme=theme, size=WIDE)
    expect(page.locator(".patternlists")).to_contain_text("run")
    expect(page.locator(".policy")).to_contain_text("statement")
    page.get_by_role("button", name="Show JSON").click()
    assert find_violations(page) == []


def test_it_fits_into_a_narrow_window(studio: RunningStudio, open_page: OpenPage) -> None:
    path = f"{CUSTOMER}&try=grant_reward&as=customer;user=rabinovich"
    page = open_page(studio, path, size=NARROW)
    expect(page.locator(".attempt")).to_contain_text("rewards: customer lacks create")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    assert find_violations(page) == []
