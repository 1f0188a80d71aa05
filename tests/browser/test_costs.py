"""The room Cost and heat in a browser: sliders, cost by pattern, heat, and recorded traffic."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import find_violations
from tests.browser.conftest import NARROW, OpenPage, RunningStudio

TABLES = ("ExchangeRates", "Market", "Pantry", "letsgo")
ROLES = ("customer;user=rabinovich", "support")
_HOSTILE = "RATE#<script>alert(1)</script>#EUR"


def month(page: Page) -> str:
    # Every pattern runs on sample items first.
    expect(page.locator(".month b")).to_be_visible(timeout=30_000)
    return page.locator(".month b").inner_text()


@pytest.mark.parametrize("table", TABLES)
def test_every_design_has_a_month(studio: RunningStudio, open_page: OpenPage, table: str) -> None:
    page = open_page(studio, f"/{table}/costs")
    assert re.fullmatch(r"\$[\d,]+\.\d\d", month(page))
    expect(page.get_by_text("prices of 2026-09-11")).to_be_visible()
    expect(page.locator(".bars a").first).to_have_attribute(
        "href", re.compile(f"^/{table}/patterns/")
    )


@pytest.mark.parametrize("role", ROLES)
def test_a_role_sees_the_cost_of_the_examples(
    studio: RunningStudio, open_page: OpenPage, role: str
) -> None:
    page = open_page(studio, f"/Market/costs?as={role}")
    assert month(page)
    expect(page.get_by_text("so the examples are measured")).to_be_visible()
    expect(page.get_by_role("button", name="Measure on this database")).to_have_count(0)


def test_a_slider_changes_the_month_and_the_address_by_keys_alone(
    studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(studio, "/Market/costs")
    before = month(page)
    slider = page.get_by_role("slider", name="Get user profile")
    slider.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".month b")).not_to_have_text(before)
    expect(page).to_have_url(re.compile(r"r\.user_profile=\d+"))
    changed = month(page)
    page.reload()
    expect(page.locator(".month b")).to_have_text(changed)
    page.get_by_role("button", name="As declared").click()
    expect(page.locator(".month b")).to_have_text(before)
    expect(page).not_to_have_url(re.compile("user_profile"))


def test_a_typed_rate_that_is_none_says_what_to_write(
    studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(studio, "/ExchangeRates/costs")
    before = month(page)
    field = page.locator(".slider input.input").first
    field.fill("often")
    expect(page.get_by_text("Write 40/s or 2M/month.")).to_be_visible()
    field.fill("5k/s")
    expect(page.locator(".month b")).not_to_have_text(before)


def test_a_billing_mode_is_kept_in_the_address(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, "/Market/costs")
    before = month(page)
    page.get_by_role("radio", name=re.compile("provisioned for the peak, Standard-IA")).check()
    expect(page.locator(".month b")).not_to_have_text(before)
    expect(page).to_have_url(re.compile("mode=provisioned"))


def test_heat_names_keys_partitions_and_remedies(
    studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(studio, "/ExchangeRates/costs?view=heat&load=1,200")
    keys = page.get_by_role("region", name="Hottest keys")
    expect(keys.get_by_text("throttled").first).to_be_visible()
    expect(keys.locator("a.spot").first).to_have_attribute(
        "href", re.compile("^/ExchangeRates/items.*where=%22RATE")
    )
    expect(page.get_by_role("region", name="What helps")).to_contain_text("At 200x")
    assert find_violations(page) == []
    page.get_by_label("Loads, as multiples").fill("1, 2")
    expect(page.get_by_text("The workload has changed since")).to_be_visible()
    page.keyboard.press("Enter")
    expect(keys.get_by_role("columnheader", name=re.compile("^at 2.$"))).to_be_visible()


def test_recorded_traffic_is_a_map_by_time(
    studio: RunningStudio, open_page: OpenPage, tmp_path: Path
) -> None:
    file = tmp_path / "traffic.jsonl"
    keys = ["RATE#USD#EUR"] * 3 + [_HOSTILE]
    records = [
        {"at": 1_000 + at, "table": "ExchangeRates", "op": "GetItem", "kind": "Read"}
        | {"uses": [["", {"PK": {"S": key}}, 0.5]]}
        for at, key in enumerate(keys)
    ]
    file.write_text("\n".join(map(json.dumps, records)))
    page = open_page(studio, "/ExchangeRates/costs?view=traffic")
    expect(page.get_by_text("No traffic is open")).to_be_visible()
    page.locator("input[type=file]").set_input_files(file)
    by_time = page.get_by_role("region", name="Keys by time")
    expect(by_time.locator("tbody tr")).to_have_count(2)
    expect(by_time.get_by_role("link", name=f"Items of {_HOSTILE}")).to_be_visible()
    assert find_violations(page) == []
    page.locator("input[type=file]").set_input_files(
        {"name": "bad.jsonl", "mimeType": "text/plain", "buffer": b"nothing"}
    )
    expect(page.get_by_role("alert")).to_contain_text("traffic-invalid")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(studio: RunningStudio, open_page: OpenPage, theme: str) -> None:
    page = open_page(studio, "/Market/costs", theme=theme)
    month(page)
    assert find_violations(page) == []


def test_a_narrow_window_scrolls_nothing_sideways(
    studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(studio, "/Market/costs", size=NARROW)
    month(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    page.get_by_role("button", name="Change the workload").click()
    expect(page.get_by_role("slider").first).to_be_in_viewport()
    assert find_violations(page) == []
