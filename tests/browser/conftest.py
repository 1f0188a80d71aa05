"""The studio as people use it: a real server process, and a real Chromium.

A test that is marked `browser` gets pages from `open_page`, on a copy of the demo's database. Every page
fails its test if it asks another host for anything, or if its console reports an error.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from keyfold.cli._demo import run_demo

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
WIDE, NARROW = (1280, 800), (390, 844)
# A busy machine is no failure.
_PATIENCE_MS = 60_000
expect.set_options(timeout=_PATIENCE_MS)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make screenshots`."""
    parser.addoption("--write-screenshots", action="store_true", help="write docs/studio/*.png")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    folder = Path(__file__).parent
    for item in items:
        if folder in item.path.parents:
            item.add_marker(pytest.mark.browser)


@dataclass(frozen=True)
class RunningStudio:
    """A studio that runs in a process of its own."""

    url: str
    file: Path | None = None

    @property
    def origin(self) -> str:
        """The URL without path and token."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"


@dataclass
class PageWatch:
    """What a page did that none may do; messages that a test expects are in `expected`."""

    origin: str
    foreign: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    expected: list[str] = field(default_factory=list[str])

    def attach(self, page: Page) -> None:
        """Watch a page."""
        page.on("request", lambda request: self._note_request(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "console",
            lambda message: self.errors.append(message.text) if message.type == "error" else None,
        )

    def _note_request(self, url: str) -> None:
        if not url.startswith((f"{self.origin}/", "data:", "blob:")):
            self.foreign.append(url)

    def check(self) -> None:
        """Fail for a request to another host, or an error that the test does not expect."""
        assert self.foreign == []
        # Chromium reports every response with a status of 400 or more.
        found = [
            each
            for each in self.errors
            if "the server responded with a status of 4" not in each
            and not any(text in each for text in self.expected)
        ]
        assert found == []


@contextmanager
def running_studio(*arguments: str) -> Generator[RunningStudio]:
    """Run `keyfold studio` with these arguments, and stop it at the end."""
    command = [sys.executable, "-m", "keyfold", "studio", *arguments, "--no-open", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, "the studio did not start"
            yield RunningStudio(json.loads(line)["url"])
        finally:
            process.terminate()
            code = process.wait(timeout=60)
    assert code == 0


@pytest.fixture(scope="session")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of `keyfold demo`: to be copied, not changed."""
    file = tmp_path_factory.mktemp("demo") / "demo.db"
    run_demo(str(file), now=datetime.now(UTC).replace(microsecond=0))
    return file


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium."""
    assert CHROMIUM is not None, "install Chromium, as the package chromium of Debian"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def studio(demo_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudio]:
    """A studio that many tests share, on the demo's database: tests of it must not write."""
    file = tmp_path_factory.mktemp("studio") / "demo.db"
    shutil.copy(demo_file, file)
    with running_studio(str(file)) as found:
        yield RunningStudio(found.url, file)


@pytest.fixture
def own_studio(demo_file: Path, tmp_path: Path) -> Iterator[RunningStudio]:
    """A studio on a copy of the demo's database that the test may change."""
    file = tmp_path / "demo.db"
    shutil.copy(demo_file, file)
    with running_studio(str(file)) as found:
        yield RunningStudio(found.url, file)


OpenPage = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """A function that opens a path of a studio in a new browser context, which has the token.

    `open_page(studio, "/Market/items", size=NARROW, theme="dark")` returns Playwright's page.
    """
    contexts: list[Any] = []
    watches: list[PageWatch] = []

    def open_(
        studio: RunningStudio,
        path: str = "/",
        *,
        size: tuple[int, int] = WIDE,
        theme: str = "light",
        expected_errors: tuple[str, ...] = (),
    ) -> Page:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=cast(Any, theme)
        )
        contexts.append(context)
        context.set_default_timeout(_PATIENCE_MS)
        page = context.new_page()
        watch = PageWatch(studio.origin, expected=[*expected_errors])
        watch.attach(page)
        watches.append(watch)
        page.goto(studio.url)
        page.wait_for_selector("#studio .app")
        if path != "/":
            page.goto(studio.origin + path)
            page.wait_for_selector("#studio .app .bar")
        return page

    yield open_
    for context in contexts:
        context.close()
    for watch in watches:
        watch.check()
