"""Files that pin versions contain packages, versions and hashes, but no URLs."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in (ROOT, ROOT / "tests" / "clients", ROOT / "tests" / "endpoints")
    for pattern in ("requirements*.txt", "*/package-lock.json")
    for path in folder.glob(pattern)
    if not path.relative_to(ROOT).parts[0].startswith(".")
)


def test_files_that_pin_versions_are_found() -> None:
    assert len([file for file in FILES if file.endswith(".txt")]) >= 5
    assert len([file for file in FILES if file.endswith(".json")]) >= 2


@pytest.mark.parametrize("file", FILES)
def test_no_file_that_pins_versions_has_a_url(file: str) -> None:
    lines = (ROOT / file).read_text("utf-8").splitlines()
    assert [line for line in lines if "://" in line] == []
