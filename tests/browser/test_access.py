"""What web pages of others get from a studio, in a real browser: nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import CHROMIUM, FLAGS, RunningStudio

PAGE = b"<!doctype html><title>Another page</title>"


class OtherPage(BaseHTTPRequestHandler):
    """A page of another server on this machine."""

    def do_GET(self) -> None:
        """Answer with an empty page."""
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Print nothing."""


@pytest.fixture
def other_origin() -> Iterator[str]:
    """The origin of a server that is not the studio."""
    with ThreadingHTTPServer(("127.0.0.1", 0), OtherPage) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_without_the_token_the_page_says_what_to_do(
    browser: Browser, studio: RunningStudio
) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(studio.origin)
        expect(page.get_by_role("alert")).to_contain_text(
            "Open the URL that keyfold studio printed"
        )


@pytest.mark.parametrize("mode", ["cors", "no-cors"])
def test_a_page_of_another_origin_gets_nothing(
    browser: Browser, studio: RunningStudio, other_origin: str, mode: str
) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(studio.url)
        page.wait_for_selector("#studio .app")
        # The browser has the cookie now, and both servers are of the same site.
        page.goto(other_origin)
        script = """async ([url, mode]) => {
            const options = {method: "POST", mode, credentials: "include", body: '{"table": "Market"}'};
            try { return (await fetch(url, options)).status; } catch (error) { return error.name; }
        }"""
        # An opaque response has the status 0; that the server refuses it, too, is tested without a browser.
        assert page.evaluate(script, [f"{studio.origin}/api/tables", mode]) in ("TypeError", 0)


def test_a_page_that_rebinds_its_name_is_refused(browser: Browser, studio: RunningStudio) -> None:
    port = urlsplit(studio.url).port
    rules = "--host-resolver-rules=MAP evil.example 127.0.0.1"
    rebound = browser.browser_type.launch(executable_path=CHROMIUM, args=[*FLAGS, rules])
    try:
        page = rebound.new_page()
        for path in ("/", f"/?{urlsplit(studio.url).query}", "/static/js/app.js"):
            response = page.goto(f"http://evil.example:{port}{path}")
            assert response is not None
            assert response.status == 403
    finally:
        rebound.close()


def test_no_page_can_frame_the_studio(
    browser: Browser, studio: RunningStudio, other_origin: str
) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(studio.url)
        page.wait_for_selector("#studio .app")
        page.goto(other_origin)
        page.evaluate(
            """(url) => new Promise((done) => {
                const frame = document.createElement("iframe");
                frame.onload = done;
                frame.src = url;
                document.body.append(frame);
            })""",
            f"{studio.origin}/Market/items",
        )
        [frame] = [each for each in page.frames if each is not page.main_frame]
        assert frame.locator("#studio").count() == 0
