"""The pictures of the studio in the documentation are taken here, so that they show what it is.

`make screenshots` writes them. Without it, each room is opened in the same way, and the files have to be
of the current sources: `docs/studio/screenshots.json` says of which they are.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

import keyfold.studio
from tests.browser.conftest import NARROW, WIDE, OpenPage, RunningStudio

FOLDER = Path(__file__).parents[2] / "docs/studio"
SOURCES = Path(keyfold.studio.__file__).parent
PATTERNS = "/Market/patterns"
STATEMENT = """SELECT * FROM "Market" WHERE pk = 'U#rabinovich#R'"""


class Picture(NamedTuple):
    """A picture: its name, where it is taken, and a selector of what has to be there."""

    name: str
    path: str
    shows: str
    theme: str = "light"
    size: tuple[int, int] = WIDE
    # A button to press first.
    press: str | None = None


PICTURES = (
    Picture("design", "/Market/design?sel=Order", ".bar h1"),
    Picture("items", "/Market/items?where=user%20%3D%20rabinovich", ".card"),
    Picture("items-dark", "/Market/items?through=IdLookupIndex", ".bar h1", "dark"),
    Picture("items-narrow", "/Market/items?where=user%20%3D%20rabinovich", ".card", size=NARROW),
    Picture("patterns", f"{PATTERNS}/last_orders?user=rabinovich&count=5", "h1", press="boto3"),
    Picture("edit", "/Market/edit?entity=Product", ".bar h1"),
    Picture("role", "/Market/role/customer?user=rabinovich&try=grant_reward", ".bar h1"),
    Picture("changes", "/Market/changes?from=oldest", ".changerow"),
    Picture("costs", "/Market/costs", ".bar h1"),
    Picture("console", f"/Market/console?sql={quote(STATEMENT)}", "h1", press="Run"),
)


def hash_sources() -> str:
    """Return a digest of everything that decides what the studio looks like."""
    digest = hashlib.sha256()
    files = [*(SOURCES / "static").rglob("*"), *SOURCES.rglob("*.py")]
    for file in sorted(each for each in files if each.is_file()):
        digest.update(file.relative_to(SOURCES).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def settle(page: Page) -> None:
    """Wait until nothing loads any more."""
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize("picture", PICTURES, ids=lambda each: each.name)
def test_a_picture_shows_its_room(
    studio: RunningStudio,
    open_page: OpenPage,
    picture: Picture,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    page = open_page(studio, picture.path, size=picture.size, theme=picture.theme)
    page.locator(picture.shows).first.wait_for()
    if picture.press is not None:
        named = re.compile(f"^{picture.press}")
        page.get_by_role("button", name=named).or_(
            page.get_by_role("tab", name=named)
        ).first.click()
    if picture.name != "changes":  # which goes on loading
        settle(page)
    folder = FOLDER if request.config.getoption("--write-screenshots") else tmp_path
    folder.mkdir(exist_ok=True)
    page.screenshot(path=folder / f"{picture.name}.png")
    assert (folder / f"{picture.name}.png").stat().st_size > 10_000
    if folder is FOLDER:
        text = json.dumps({"sources": hash_sources()}, indent=2)
        (FOLDER / "screenshots.json").write_text(f"{text}\n")


def test_the_pictures_are_of_the_current_sources(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--write-screenshots"):
        return
    found = json.loads((FOLDER / "screenshots.json").read_text())["sources"]
    assert found == hash_sources(), "run make screenshots, and look at docs/studio"
    assert {path.stem for path in FOLDER.glob("*.png")} == {each.name for each in PICTURES}
