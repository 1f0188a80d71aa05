"""What the page about the shell types is answered as the page shows."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from keyfold.cli._shell._prompt import MORE_PROMPT, PROMPT
from tests.docs.test_commands import BLOCK, ROOT, check_commands

GUIDE = ROOT / "docs" / "how-to" / "explore-in-the-shell.md"
TYPED = re.compile(rf"^(?:{re.escape(PROMPT)}|{re.escape(MORE_PROMPT)})(.*)\n", re.MULTILINE)


def test_the_shell_answers_as_the_guide_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = typed = 0
    for block in BLOCK.finditer(GUIDE.read_text("utf-8")):
        lines = TYPED.findall(block[2])
        typed += len(lines)
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
        commands += check_commands(TYPED.sub("", block[2]), capsys)
    assert (commands, typed) == (3, 9)
