"""SECURITY.md names tests, targets and limits that exist."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

from keyfold.wire.server import Limits
from keyfold.wire.server._keyring import GRACE_SECONDS
from keyfold.wire.server._signatures import WINDOW_SECONDS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "SECURITY.md").read_text("utf-8")
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}


def test_the_tests_that_are_named_exist() -> None:
    named = set(re.findall(r"`(tests/[^`]+)`", TEXT))
    assert len(named) > 20
    assert [each for each in sorted(named) if not (ROOT / each).is_file()] == []


def test_each_test_of_hostile_input_is_named() -> None:
    folder = ROOT / "tests/hostile"
    assert [each.name for each in sorted(folder.glob("test_*.py")) if each.name not in TEXT] == []


def test_the_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)`", TEXT))
    assert named == {"test", "test-hostile", "mutants"}
    assert named <= targets


def test_the_limits_are_those_of_a_server() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+)(?: (\w+))? \|", TEXT, re.MULTILINE)
    shown = {
        name: float(number.replace(",", "")) * UNITS.get(unit, 1) for name, number, unit in rows
    }
    assert shown == asdict(Limits())
    assert f"for {GRACE_SECONDS:.0f} more seconds" in TEXT
    assert WINDOW_SECONDS == 5 * 60


def test_strangers_find_the_page() -> None:
    for path, link in (("README.md", "](SECURITY.md)"), ("docs/index.md", "](../SECURITY.md)")):
        assert link in (ROOT / path).read_text("utf-8")
