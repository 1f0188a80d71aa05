"""Documents as one HTML page: well-formed, self-contained, and the same in content."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from keyfold.export.documents import DesignDocument, write_html

VOID = {"meta"}


class PageReader(HTMLParser):
    """Collects what a page has, and checks that its elements are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(document: DesignDocument) -> PageReader:
    page = PageReader()
    page.feed(write_html(document))
    assert page.open == []
    return page


def test_a_page_loads_nothing(document: DesignDocument) -> None:
    text = write_html(document)
    page = read(document)
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object"}
    links = [attrs["href"] or "" for _, attrs in page.tags if "href" in attrs]
    assert all(link.startswith("#") for link in links)
    assert not [attrs for _, attrs in page.tags if "src" in attrs]
    assert "url(" not in text
    assert "@import" not in text
    # The name of a namespace is the only address.
    assert set(re.findall(r"https?://[^\"' <]+", text)) == {"http://www.w3.org/2000/svg"}


def test_links_of_the_contents_lead_to_the_sections(document: DesignDocument) -> None:
    page = read(document)
    anchors = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    links = [(attrs["href"] or "")[1:] for tag, attrs in page.tags if tag == "a"]
    assert len(links) == len(document.sections)
    assert set(links) <= anchors


def test_a_page_has_the_pictures_and_the_diagram(document: DesignDocument) -> None:
    page = read(document)
    assert sum(tag == "svg" for tag, _ in page.tags) == len(document.pictures) == 3
    assert "Patient has any number of Visit, by patient" in page.text
    assert "erDiagram" in page.text


def test_values_are_escaped(document: DesignDocument) -> None:
    text = write_html(document)
    assert '<code class="name">Ann &lt;b&gt;|`x`</code>' in text
    assert "4711" not in text


def test_a_page_is_for_light_and_dark_screens(document: DesignDocument) -> None:
    text = write_html(document)
    assert "color-scheme: light dark" in text
    assert "@media (prefers-color-scheme: dark)" in text
