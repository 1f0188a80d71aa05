"""Every example in the documentation runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import keyfold

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
# Their examples need packages that conflict with ours: tests/frameworks runs them.
FRAMEWORKS = {ROOT / "docs" / "how-to" / "develop-agents.md"}
MODULES = [
    "keyfold",
    *sorted(module.name for module in pkgutil.walk_packages(keyfold.__path__, "keyfold.")),
]
PACKAGES = sorted({".".join(name.split(".")[:2]) for name in MODULES})

PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A database, or a module of the reader's own.
FILE = re.compile(r"(?<![\w/])[a-z][\w-]*\.(?:db|py)\b")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)(?:#[^)]*)?\)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if PYTHON.search(page.read_text("utf-8")) and page not in FRAMEWORKS],
    ids=name_of,
)
def test_the_examples_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_examples(page)


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "tutorial").glob("*.md")), ids=name_of)
def test_a_tutorial_may_be_run_again(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_examples(page)
    assert list(tmp_path.glob("*.db"))
    run_examples(page)


def run_examples(page: Path) -> None:
    """Run the examples of a page as one program."""
    text = page.read_text("utf-8")
    namespace: dict[str, object] = {"__name__": "example"}
    for example in PYTHON.finditer(text):
        # Blank lines in front, so that a traceback gives the line of the page.
        first_line = text.count("\n", 0, example.start(1))
        code = compile("\n" * first_line + example[1], page, "exec", dont_inherit=True)
        exec(code, namespace)


def test_the_links_of_every_page_lead_somewhere() -> None:
    links = [(page, target) for page in PAGES for target in LINK.findall(page.read_text("utf-8"))]
    dead = [(page, target) for page, target in links if not (page.parent / target).exists()]
    assert [f"{name_of(page)}: {target}" for page, target in dead] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_the_examples_of_a_package_run(package: str, subtests: pytest.Subtests) -> None:
    for name in (name for name in MODULES if name.split(".")[:2] == package.split(".")):
        with subtests.test(module=name):
            results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
            assert results.failed == 0


def test_no_two_guides_use_the_same_file() -> None:
    """Who follows one after another in one folder would find the tables of the first."""
    guides = [page for page in PAGES if page.parent.name in ("how-to", "tutorial")]
    users: dict[str, list[str]] = {}
    for page in guides:
        for file in sorted(set(FILE.findall(page.read_text("utf-8")))):
            users.setdefault(file, []).append(page.name)
    assert len(users) > 10
    assert {file: pages for file, pages in users.items() if len(pages) > 1} == {}
