"""The page of each design opens with its document, and every command on the page runs."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from keyfold.cli import main
from tests.demo_run import DemoRun
from tests.docs.sessions import find_session, run_session

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "designs").glob("*.md"))
OPENING = "## The document, and what runs"
CLOSING = "## As a service"

GENERATED = re.compile("<!-- generated: .*?<!-- end of generated -->", re.DOTALL)
CELL = re.compile(r"`(keyfold [^`]*)`(?: \(exits with (\d)\))?")


class Command(NamedTuple):
    """A command that a page shows, and the code it exits with."""

    line: str
    code: int


def find_commands(text: str) -> Iterator[Command]:
    """Yield the commands of a page, in its tables and its blocks, in their order."""
    in_block = False
    for line in text.splitlines():
        if line.startswith("```"):
            in_block = line == "```text"
        elif in_block and line.startswith("keyfold "):
            yield Command(line, 0)
        elif line.startswith("|"):
            for command, code in CELL.findall(line.replace("\\|", "|")):
                yield Command(command, int(code or 0))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_the_page_runs(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    demo_run: DemoRun,
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "seeds").symlink_to(ROOT / "tests" / "seeds")
    shutil.copyfile(demo_run.file, tmp_path / "demo.db")
    monkeypatch.chdir(tmp_path)
    commands = list(find_commands(GENERATED.sub("", page.read_text("utf-8"))))
    failed: list[str] = []
    for line, code in commands:
        with pytest.raises(SystemExit) as exited:
            main(shlex.split(line)[1:])
        printed = capsys.readouterr()
        if exited.value.code != code:
            failed.append(f"{line}\nexited with {exited.value.code}: {printed.out}{printed.err}")
    assert failed == []
    assert len(commands) > 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_has_the_design_as_it_is_declared(page: Path) -> None:
    """Whether it is up to date is tested with the other generated parts."""
    text = page.read_text("utf-8")
    [written] = GENERATED.findall(text)
    assert text.split(written)[1].strip().startswith(CLOSING)
    for title in ("Entities", "Attributes", "Access patterns", "Review", "Cost"):
        assert f"\n### {title}\n" in written
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", written)
    assert pictures
    assert all((page.parent / each).read_text("utf-8").startswith("<svg") for each in pictures)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_opens_with_the_document(page: Path) -> None:
    text = page.read_text("utf-8")
    first = re.search("^## .*$", text, re.MULTILINE)
    assert first is not None
    assert first[0] == OPENING
    section = text.split(OPENING)[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    assert rows[0] == "| the document says | where it is | see it |"
    assert len(rows) > 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_ends_with_a_session_that_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "seeds").symlink_to(ROOT / "tests" / "seeds")
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    loads = [each.line for each in find_commands(text) if each.line.startswith("keyfold load ")]
    for line in loads:
        with pytest.raises(SystemExit) as exited:
            main(shlex.split(line)[1:])
        assert exited.value.code == 0
    session = find_session(text.split(CLOSING)[1])
    assert len(session) >= 5
    assert run_session(session, tmp_path) == []
