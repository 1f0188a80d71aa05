"""Every command, exported name and error code is documented, and nothing generated is stale."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from keyfold import errors
from keyfold.api import OPERATIONS
from keyfold.cli import app
from keyfold.errors import KeyfoldError, ServiceError

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
ERRORS = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, KeyfoldError)
]
FRAGMENTS = sorted((ROOT / "changelog.d").glob("*.md"))


def read(page: str) -> str:
    return (REFERENCE / page).read_text("utf-8")


def test_every_command_is_documented() -> None:
    programs = [("", app)] + [
        (f"{group.name} ", group.typer_instance) for group in app.registered_groups
    ]
    names = [
        f"{group}{command.name or command.callback.__name__}"
        for group, program in programs
        if program is not None
        for command in program.registered_commands
        if command.callback is not None
    ]
    assert {"verify", "letsgo ls", "stream dead-letters"} <= set(names)
    assert [name for name in names if f"## `keyfold {name}`" not in read("cli.md")] == []


def test_the_keywords_of_every_declaration_are_explained() -> None:
    signature = re.compile(r"^    (?:\*\*)?(\w+): ", re.MULTILINE)
    missing: list[str] = []
    shown_names: set[str] = set()
    for section in read("declarations.md").split("\n## ")[1:]:
        shown, _, prose = section.partition("<!-- end of generated -->")
        names = [name for name in signature.findall(shown) if name not in ("options", "name")]
        shown_names.update(names)
        missing += [name for name in names if f"`{name}`" not in prose and f"`{name}=" not in prose]
    assert missing == []
    assert {"unique", "ttl", "project", "partition", "can"} <= shown_names


def test_every_error_is_documented() -> None:
    page = read("errors.md")
    own = [
        error.code
        for error in ERRORS
        if not issubclass(error, ServiceError)
        if error is not KeyfoldError and not error.__name__.startswith("_")
    ]
    assert [code for code in own if f"### `{code}`" not in page] == []
    assert len(set(own)) == len(own), "a code belongs to one error"
    service = [error.__name__ for error in ERRORS if issubclass(error, ServiceError)]
    service.remove("ServiceError")
    assert [name for name in service if f"| `{name}` |" not in page] == []


def test_every_operation_is_listed() -> None:
    page = (ROOT / "docs" / "compatibility.md").read_text("utf-8")
    section = page.partition("## Operations")[2].partition("## Differences")[0]
    answered = "".join(line for line in section.splitlines() if line.startswith("|"))
    assert set(re.findall(r"`([A-Z]\w+)`", answered)) == set(OPERATIONS)


@pytest.mark.parametrize(
    "package",
    [
        "keyfold",
        "keyfold.engine",
        "keyfold.keys",
        "keyfold.model",
        "keyfold.policy",
        "keyfold.policy.iam",
        "keyfold.requests",
        "keyfold.store",
        "keyfold.testing",
        "keyfold.transfer",
        "keyfold.values",
        "keyfold.wire.client",
        "keyfold.wire.server",
    ],
)
def test_every_exported_name_is_documented(package: str) -> None:
    exported: list[str] = importlib.import_module(package).__all__
    documented = re.findall(r"^### `(\w+)", read("python.md"), re.MULTILINE)
    assert set(exported) <= set(documented)


def test_every_page_is_in_the_index() -> None:
    docs = ROOT / "docs"
    index = (docs / "index.md").read_text("utf-8")
    pages = {str(page.relative_to(docs)) for page in docs.rglob("*.md")} - {"index.md"}
    assert {page for page in pages if f"({page})" not in index} == set()


def test_generated_parts_are_fresh() -> None:
    script = ROOT / "scripts" / "generate_docs.py"
    checked = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, check=False, text=True
    )
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("fragment", FRAGMENTS, ids=lambda fragment: fragment.name)
def test_a_changelog_fragment_says_its_kind(fragment: Path) -> None:
    assert re.fullmatch(r"README\.md|[a-z-]+\.(added|changed|fixed|removed)\.md", fragment.name)
