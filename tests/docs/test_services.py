"""The guides to services: their sessions run, against real servers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.demo_run import DemoRun
from tests.docs.sessions import find_session, is_shown, run_session

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "how-to" / "serve-patterns.md"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_session_of_the_guide_runs(tmp_path: Path) -> None:
    text = GUIDE.read_text("utf-8")
    declaration = PYTHON.findall(text)[0]
    (tmp_path / "bookclub.py").write_text(declaration, "utf-8")
    session = find_session(text)
    assert len(session) > 10
    assert run_session(session, tmp_path) == []


def test_mounting_a_service_takes_ten_lines() -> None:
    [example] = [each for each in PYTHON.findall(GUIDE.read_text("utf-8")) if "app.mount" in each]
    assert len([line for line in example.splitlines() if line]) <= 10


def test_what_is_left_out_may_be_anything() -> None:
    assert is_shown('{"a":"…",\n"b":1}', '{"a":"xyz","b":1}')
    assert not is_shown('{"a":"…"}', '{"a":"xyz","b":1}')
    assert not is_shown("", "anything")


def test_the_session_of_the_read_me_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo_run: DemoRun
) -> None:
    monkeypatch.chdir(tmp_path)
    session = find_session((ROOT / "README.md").read_text("utf-8"))
    assert [each.line.split()[0] for each in session] == ["keyfold", "curl"]
    (tmp_path / "demo.db").write_bytes(Path(demo_run.file).read_bytes())
    assert run_session(session, tmp_path) == []
