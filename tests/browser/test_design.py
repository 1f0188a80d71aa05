"""The room Design: diagram, keys, document, findings and source, in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from keyfold import Table
from keyfold.connect import open_executor
from keyfold.designs.market import table as market
from tests.browser.conftest import NARROW, WIDE, OpenPage, RunningStudio, running_studio

TABLES = ("ExchangeRates", "Market", "Pantry", "letsgo")
# The first review of a table runs all its patterns, which takes seconds on a busy machine.
_REVIEW_MS = 60_000
_RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}


def find_hidden_crossings(page: Page) -> list[str]:
    """Return the lines that pass over a box which they do not end at."""
    found: list[str] = page.evaluate(
        """() => {
          const inside = (box, point) =>
            point.x > box.x + 1 && point.x < box.x + box.width - 1 && point.y > box.y + 1 && point.y < box.y + box.height - 1;
          const boxes = [...document.querySelectorAll(".dg .eb, .dg .ib, .dg .pb")].map((each) => each.getBBox());
          const shards = [...document.querySelectorAll(".dg .sh")].map((each) => each.getBBox());
          const crossing = [];
          for (const path of document.querySelectorAll(".dg .lines path")) {
            const length = path.getTotalLength();
            const points = Array.from({ length: 80 }, (_, number) => path.getPointAtLength((length * number) / 79));
            const [first, last] = [points[0], points.at(-1)];
            const near = (box, point) => point.x > box.x - 2 && point.x < box.x + box.width + 2 && point.y > box.y - 2 && point.y < box.y + box.height + 2;
            for (const box of boxes) if (points.some((point) => inside(box, point))) crossing.push(path.getAttribute("d"));
            for (const box of shards) if (!near(box, first) && !near(box, last) && points.some((point) => inside(box, point))) crossing.push(path.getAttribute("d"));
          }
          return crossing;
        }"""
    )
    return found


def find_violations(page: Page) -> list[str]:
    """Return what axe-core finds, with the elements."""
    axe: Any = Axe()
    found = axe.run(page, options=_RULES).response["violations"]
    return [f"{each['id']}: {node['html']}" for each in found for node in each["nodes"]]


@pytest.mark.parametrize("table", TABLES)
def test_no_line_passes_under_a_box(studio: RunningStudio, open_page: OpenPage, table: str) -> None:
    page = open_page(studio, f"/{table}/design")
    expect(page.locator(".dg .lines path").first).to_be_attached()
    assert find_hidden_crossings(page) == []


def test_the_lines_of_a_selection_are_strong(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, "/Market/design")
    expect(page.locator(".dg path.hue")).to_have_count(0)
    page.get_by_role("button", name=re.compile("^entity Order($|,)")).click()
    expect(page).to_have_url(re.compile("sel=Order$"))
    expect(page.locator('.dg path[data-line="Order reads last_orders"]')).to_have_class("hue r")
    expect(page.locator('.dg path[data-line="Order writes place_order"]')).to_have_class("hue w")
    expect(page.locator('.dg path[data-line="Order in IdLookupIndex"]')).to_have_class("hue opt")
    expect(page.locator('.dg path[data-line="IdLookupIndex to order_by_id"]')).to_have_class(
        "ink r"
    )
    side = page.get_by_role("complementary", name="Order")
    expect(side).to_contain_text(
        'Order is in IdLookupIndex when id and tp are set. tp is always "order", so id decides.'
    )
    expect(side).to_contain_text("class Order(_IdentifiedItem")
    expect(side).to_contain_text("U#rabinovich#O")
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("sel="))


def test_findings_come_to_the_diagram_and_lead_to_their_place(
    studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(studio, "/Market/design?sel=Cart")
    expect(page.get_by_role("complementary")).to_contain_text(
        "nobody needs a larger cart", timeout=_REVIEW_MS
    )
    page.get_by_role("button", name="3 warnings").click()
    findings = page.get_by_role("region", name="Findings")
    expect(findings).to_contain_text("Prefix of another entity")
    expect(page.locator(".nav a[aria-current] .badge")).to_have_text("3")
    expect(page.get_by_role("button", name="entity Order, warning")).to_be_visible()
    findings.get_by_role("link", name="Orders between two dates").click()
    expect(page).to_have_url(re.compile("sel=orders_between"))
    expect(page.get_by_role("complementary")).to_contain_text("Reads much more than it returns")


def test_the_diagram_is_used_by_keys_alone(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, "/Market/design")
    first = page.locator('.dg [data-node="entity:User"]')
    expect(first).to_have_attribute("tabindex", "0")
    first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(page.locator('.dg [data-node="entity:Order"]')).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page.locator('.dg [data-node="index:ReverseIndex"]')).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator('.dg [data-node="pattern:find_by_key"]')).to_be_focused()
    page.keyboard.press("Home")
    expect(page.locator('.dg [data-node="pattern:user_profile"]')).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("sel=user_profile"))
    expect(page.get_by_role("complementary")).to_contain_text("Get user profile")
    # One tab stop in the whole diagram.
    expect(page.locator('.dg [data-node][tabindex="0"]')).to_have_count(1)
    page.get_by_role("tab", name="Diagram").focus()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("tab=keys"))
    expect(page.get_by_role("tab", name="Keys")).to_be_focused()
    expect(page.get_by_role("table").first).to_contain_text("U#{user}#{number:03}")


def test_zoom_by_buttons_keys_and_wheel(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, "/Pantry/design")
    scale = page.get_by_role("group", name="Zoom").get_by_role("button").nth(1)
    page.get_by_role("button", name="Zoom in").click()
    scale.click()
    expect(scale).to_have_text("100 %")
    page.keyboard.press("+")
    expect(scale).to_have_text("120 %")
    box = page.locator(".dstage").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.keyboard.down("Control")
    page.mouse.wheel(0, 120)
    page.keyboard.up("Control")
    expect(scale).not_to_have_text("120 %")
    page.get_by_role("button", name="Fit").click()
    fits = page.evaluate(
        "() => { const stage = document.querySelector('.dstage'), svg = document.querySelector('.dg'); "
        "return svg.clientWidth <= stage.clientWidth && svg.clientHeight <= stage.clientHeight; }"
    )
    assert fits


def test_the_exported_picture_needs_nothing_else(
    studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(studio, "/Market/design?sel=Order")
    expect(page.locator(".dg path.hue").first).to_be_attached()
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Export SVG").click()
    download = downloading.value
    assert download.suggested_filename == "Market.svg"
    text = Path(download.path()).read_text("utf-8")
    root = ET.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(" not in text
    assert "class=" not in text
    assert "rgb(219, 114, 53)" in text  # the hue of Order
    shown = {"".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Order", "IdLookupIndex", "Place an order"} <= shown
    # Alone in a page, it is drawn as in the room.
    alone = page.context.new_page()
    alone.set_content(text[text.index("<svg") :])
    expect(alone.locator("text", has_text="IdLookupIndex")).to_be_visible()


def test_the_document_is_made_of_elements(studio: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(studio, "/Pantry/design?tab=document")
    expect(page.get_by_role("heading", name="Access patterns")).to_be_visible(timeout=_REVIEW_MS)
    expect(page.get_by_role("region", name="Primary key")).to_contain_text("PK")
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Save as Markdown").click()
    assert Path(downloading.value.path()).read_text("utf-8").startswith("# Pantry")


@pytest.mark.parametrize("principal", ["customer;user=rabinovich", "support"])
def test_roles_see_the_design(studio: RunningStudio, open_page: OpenPage, principal: str) -> None:
    page = open_page(studio, f"/Market/design?sel=Bill&as={principal}")
    expect(page.get_by_role("complementary", name="Bill")).to_contain_text("class Bill(")
    page.get_by_role("link", name="IdLookupIndex").click()
    expect(page).to_have_url(
        re.compile(f"as={principal.split(';', maxsplit=1)[0]}.*sel=IdLookupIndex")
    )


@pytest.mark.parametrize(("size", "theme"), [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light")])
def test_axe_finds_nothing(
    studio: RunningStudio, open_page: OpenPage, size: tuple[int, int], theme: str
) -> None:
    page = open_page(studio, "/Market/design", size=size, theme=theme)
    waits = {
        "sel=Order": ".side .src",
        "sel=IdLookupIndex": ".side .src",
        "sel=delete_user": ".side .src",
        "tab=keys": ".facts",
        "tab=document": ".doc",
        "": ".finding",
    }
    for query, wait in waits.items():
        page.goto(f"{studio.origin}/Market/design?{query}")
        page.locator(wait).first.wait_for()
        assert find_violations(page) == [], query
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_a_narrow_window_scrolls_the_diagram_in_its_pane(
    studio: RunningStudio, open_page: OpenPage
) -> None:
    page = open_page(studio, "/Market/design?sel=Order", size=NARROW)
    expect(page.locator('.dg [data-node="entity:Order"]')).to_be_in_viewport()
    stage = "document.querySelector('.dstage')"
    assert page.evaluate(f"{stage}.scrollWidth > {stage}.clientWidth")
    expect(page.locator(".side.sheet")).to_be_visible()
    page.get_by_role("button", name="Close, show the table").click()
    page.get_by_role("tab", name="Keys").click()
    expect(page.get_by_role("row").filter(has_text="OrderLine").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]


# Other tables than the included designs.


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningStudio]:
    """A studio on a table of 45 entities, with long and hostile names."""
    lines = [
        "from keyfold import Entity, Index, Key, Table, part",
        "by_x = Index('AnIndexWhoseNameSaysEverythingAboutWhatItFinds', key=Key('x'))",
        "table = Table('Many', key=Key('pk', 'sk'), indexes=[by_x])",
    ]
    lines += [f"s{each} = table.shard('S{each}#{{tenant}}', name='s{each}')" for each in range(5)]
    for number in range(45):
        name = f"Thing{number}" if number else "AThingWhoseNameNobodyWouldEverTypeTwiceInOneDay"
        title = f"Get <img src=x onerror=alert(1)> thing {number}, as long as it takes to say so"
        lines += [
            f"class {name}(Entity, table=table, key=(s{number % 5}, 'E{number}#{{key}}')):",
            '    """A thing <script>alert(1)</script>."""',
            "    tenant: str = part()",
            "    key: str = part()",
            "    x: str | None = None",
            f"@table.pattern({title!r})",
            f"def get_{number}(tenant: str, key: str):",
            f"    return {name}.get(tenant=tenant, key=key)",
        ]
    (tmp_path / "many_tables.py").write_text("\n".join(lines), "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with running_studio("--table", "many_tables:table") as found:
        yield found


def test_shards_of_a_large_table_are_folded(many: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(many, "/Many/design")
    page.on("dialog", lambda dialog: pytest.fail(f"the page ran a script: {dialog.message}"))
    expect(page.locator(".dg .en")).to_have_count(0)
    shard = page.get_by_role("button", name="s0, 9 entities")
    expect(shard).to_have_attribute("aria-expanded", "false")
    shard.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".dg .en")).to_have_count(9)
    assert find_hidden_crossings(page) == []
    # What a link selects is shown, folded or not.
    page.goto(f"{many.origin}/Many/design?sel=get_1")
    expect(page.locator(".dg .pt.sel title")).to_have_text(
        re.compile(r"^Get <img src=x onerror=alert\(1\)> thing 1")
    )
    page.goto(f"{many.origin}/Many/design?sel=Thing7")
    expect(page.get_by_role("complementary")).to_contain_text("<script>alert(1)</script>")
    expect(page.locator(".dg .en.sel")).to_be_visible()


@pytest.fixture
def undeclared(tmp_path: Path) -> Iterator[RunningStudio]:
    """A studio on a table that nobody declared."""
    file = tmp_path / "shop.db"
    with open_executor(str(file), may_make=True) as executor:
        _write(executor, market, "My-Shop")
    with running_studio(str(file)) as found:
        yield RunningStudio(found.url, file)


def _write(executor: Any, table: Table, name: str) -> None:
    executor.execute("CreateTable", table.to_dynamodb() | {"TableName": name})
    for each in table.example_entities():
        item = table.entities[type(each).__name__].encode(each)
        executor.execute("PutItem", {"TableName": name, "Item": item})


def test_an_inferred_declaration_says_so(undeclared: RunningStudio, open_page: OpenPage) -> None:
    page = open_page(undeclared, "/My-Shop/design")
    expect(page.locator(".dg .en").first).to_be_visible()
    page.get_by_role("tab", name="Declaration").click()
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text("this declaration was inferred")
    expect(panel).to_contain_text(f"dynamodb {undeclared.file} --name My-Shop --output my_shop.py")
    expect(panel.get_by_role("button", name="Copy the command")).to_be_visible()
    expect(panel.get_by_role("button", name="Copy the declaration")).to_be_visible()
    expect(panel).to_contain_text("class Order")
    assert find_violations(page) == []
