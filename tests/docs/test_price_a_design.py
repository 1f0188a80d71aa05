"""The pages about costs: their commands print what they show, and their files are read."""

from __future__ import annotations

import re
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from keyfold.analysis import CostSettings, read_workload
from keyfold.designs import market, pantry
from keyfold.model._expected_use import Volume
from tests.docs.test_commands import BLOCK, ROOT, check_commands

GUIDE = ROOT / "docs" / "how-to" / "price-a-design.md"
REFERENCE = ROOT / "docs" / "reference" / "workload.md"


def blocks_of(page: Path, kind: str) -> list[str]:
    return [each[2] for each in BLOCK.finditer(page.read_text("utf-8")) if each[1] == kind]


def test_the_commands_of_the_guide_print_what_it_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT / "examples")
    monkeypatch.setattr(sys, "path", list(sys.path))
    commands = sum(check_commands(block, capsys) for block in blocks_of(GUIDE, "console"))
    assert commands == 6


def test_the_workload_of_the_guide_is_that_of_the_design(tmp_path: Path) -> None:
    [block] = blocks_of(GUIDE, "toml")
    file = tmp_path / "workload.toml"
    file.write_text(block)
    shown, included = read_workload(pantry.table, file), read_workload(pantry.table)
    assert shown.patterns["GetContainer"] == included.patterns["GetContainer"]
    assert shown.volumes["Container"] == included.volumes["Container"]


def test_the_example_of_the_reference_has_every_key(tmp_path: Path) -> None:
    file = tmp_path / "workload.toml"
    file.write_text(blocks_of(REFERENCE, "toml")[0])
    found = read_workload(market.table, file)
    use = found.patterns["Get user profile"]
    assert None not in (use.rate, use.peak, use.skew, use.keys)
    assert found.patterns["Lookup by business id"].arguments
    order = found.volumes["Order"]
    assert None not in (order.items, order.growth, order.bytes, order.per_partition)
    assert all(getattr(found.settings, each.name) for each in fields(CostSettings))


def test_the_reference_explains_every_key() -> None:
    explained = set(re.findall(r"^\| `(\w+)` \|", REFERENCE.read_text("utf-8"), re.MULTILINE))
    settings = {each.name for each in fields(CostSettings)}
    volumes = {each.name for each in fields(Volume)}
    assert explained == {"rate", "peak", "skew", "keys", "arguments", *volumes, *settings}
