"""What axe-core finds in a page."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}


def find_violations(page: Page) -> list[str]:
    """Return what violates WCAG 2 A or AA, each with the first element concerned."""
    axe: Any = Axe()
    found = axe.run(page, options=_RULES).response
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found["violations"]]
