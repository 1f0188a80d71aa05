"""A million items stay usable: what is mounted, asked for and read stays small, however far one goes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Request, Response, expect

from tests.browser.conftest import OpenPage, RunningStudio, running_studio
from tests.browser.million import GIANT, TABLE, make_million

MOST_BANDS = 41
MOST_CARDS_A_BAND = 31
PAGES = 25


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudio]:
    """A studio on a million items, half of them in one partition."""
    file = tmp_path_factory.mktemp("million") / "million.db"
    make_million(file)
    with running_studio(str(file)) as found:
        yield RunningStudio(found.url, file)


@dataclass
class Traffic:
    """The requests of a page for items, and what the server read for each."""

    page: Page
    pages: list[Request] = field(default_factory=list[Request])
    finished: list[Request] = field(default_factory=list[Request])

    def __post_init__(self) -> None:
        self.page.on("request", self._note)
        self.page.on("requestfinished", self._finish)

    def _note(self, request: Request) -> None:
        if request.url.endswith("/api/items/page"):
            self.pages.append(request)

    def _finish(self, request: Request) -> None:
        if "/api/items/" in request.url:
            self.finished.append(request)

    def check(self) -> None:
        """Fail if a request read much."""
        for request in self.finished:
            response: Response | None = request.response()
            assert response is not None
            answer: Any = json.loads(response.body())
            assert answer["units"]["read"] <= 15
            assert sum(each["scanned"] for each in answer["calls"]) <= 2_500


def count(page: Page, selector: str) -> int:
    return page.locator(selector).count()


def check_mounted(page: Page) -> None:
    """Fail if more is mounted than is visible, and a little around it."""
    assert count(page, ".band") <= MOST_BANDS
    assert count(page, ".card") <= MOST_CARDS_A_BAND * count(page, ".band")
    assert page.evaluate("document.querySelectorAll('*').length") < 6_000


def loaded(page: Page) -> int:
    return int(page.locator(".bandlist").get_attribute("data-loaded") or "0")


def scroll_to_end(page: Page) -> None:
    page.locator(".pane").evaluate("pane => { pane.scrollTop = pane.scrollHeight; }")


def test_partitions_come_as_one_scrolls(million: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(million, f"/{TABLE}/design")
    traffic = Traffic(page)
    page.goto(f"{million.origin}/{TABLE}/items")
    expect(page.locator(".card").first).to_be_visible()
    expect(page.locator(".legend")).to_contain_text("…")
    expect(page.get_by_role("button", name="Count (about")).to_be_visible()
    for _ in range(PAGES):
        before = loaded(page)
        scroll_to_end(page)
        expect(page.locator(".bandlist")).not_to_have_attribute("data-loaded", str(before))
        check_mounted(page)
    assert loaded(page) > 20 * PAGES
    # A request brings 40 partitions or more, and none is made twice.
    assert len(traffic.pages) <= loaded(page) // 40 + 2
    page.locator(".pane").evaluate("pane => { pane.scrollTop = 0; }")
    expect(page.locator(".band .card").first).to_be_visible()
    check_mounted(page)
    traffic.check()


def test_half_a_million_items_in_one_partition(million: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(million, f"/{TABLE}/items?where=DEVICE%23giant")
    traffic = Traffic(page)
    band = page.get_by_role("region", name=f"partition {GIANT}")
    expect(band).to_contain_text("and more")
    expect(band.locator("canvas")).to_be_visible()
    band.locator(".card[tabindex='0']").focus()
    page.keyboard.press("End")
    expect(focused(page)).to_have_attribute("title", "EVENT#0499999")
    page.keyboard.press("ArrowLeft")
    expect(focused(page)).to_have_attribute("title", "EVENT#0499998")
    page.keyboard.press("Home")
    expect(focused(page)).to_have_attribute("title", "EVENT#0000000")
    for _ in range(8):
        with page.expect_response(lambda response: response.url.endswith("/items/partition")):
            band.locator(".cards").evaluate("list => { list.scrollLeft = list.scrollWidth; }")
        check_mounted(page)
    place = band.locator("li[aria-posinset]").last.get_attribute("aria-posinset")
    assert int(place or "0") > 300
    traffic.check()


def test_a_link_deep_into_a_partition(million: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(million, f"/{TABLE}/items?at=DEVICE%23giant~EVENT%230300000")
    expect(page.locator(".card[aria-current]")).to_have_attribute("title", "EVENT#0300000")
    check_mounted(page)


def test_a_search_goes_on_only_if_asked(million: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(million, f"/{TABLE}/design")
    traffic = Traffic(page)
    page.goto(f"{million.origin}/{TABLE}/items?where=level+%3D+99")
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    assert len(traffic.pages) == 1
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".ending")).to_contain_text("of about 1,000,000 items read")
    traffic.check()


def focused(page: Page) -> Locator:
    return page.locator(".card:focus")
