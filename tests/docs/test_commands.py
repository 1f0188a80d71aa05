"""Every command that a page shows runs, and prints what the page shows of it."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from keyfold.cli import main
from tests.demo_run import DemoRun

ROOT = Path(__file__).resolve().parents[2]
# The guides whose commands build on each other, the module of each, and how many there are.
GUIDES = {
    "document-a-design.md": ("clinic", 4),
    "export-tables.md": ("depots", 8),
    "import-designs.md": ("pantry_table", 9),
    "move-data.md": ("depot", 7),
    "run-access-patterns.md": ("kiosk", 14),
    "start-a-project.md": ("tables", 3),
    "take-roles-to-aws.md": ("bazaar", 2),
}

BLOCK = re.compile(r"^```(console|csv|json|python|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A shown line may leave out what differs each time.
LEFT_OUT = "…"


def normalise(text: str) -> str:
    return " ".join(text.split())


def is_shown(line: str, printed: list[str]) -> bool:
    parts = [re.escape(normalise(part)) for part in line.split(LEFT_OUT)]
    pattern = re.compile(r"\s*.*".join(parts))
    return any(pattern.fullmatch(each) for each in printed)


def find_wrong_lines(shown: list[str], output: str) -> list[str]:
    """Return the lines that a page shows and a command did not print."""
    printed = [normalise(each) for each in output.splitlines()]
    wanted = [each for each in shown if each.strip() != LEFT_OUT]
    return [each for each in wanted if not is_shown(each, printed)]


def check_commands(block: str, capsys: pytest.CaptureFixture[str]) -> int:
    """Run each command of a block, and compare what it prints; return how many there were."""
    commands = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    for command in commands:
        line, *shown = command.strip().splitlines()
        with pytest.raises(SystemExit) as exited:
            main(shlex.split(line)[1:])
        output = capsys.readouterr()
        # A page may show an error, which is a negative result.
        code = 1 if any(each.startswith("keyfold: ") for each in shown) else 0
        assert exited.value.code == code, (line, output.err)
        assert find_wrong_lines(shown, output.out + output.err) == []
    return len(commands)


@pytest.mark.parametrize(
    ("guide", "module", "count"), [(guide, *about) for guide, about in GUIDES.items()]
)
def test_the_commands_of_a_guide_print_what_it_shows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    guide: str,
    module: str,
    count: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = Path(f"{module}.py")
    commands = 0
    text = (ROOT / "docs" / "how-to" / guide).read_text("utf-8")
    assert f"`{file}`" in text
    for block in BLOCK.finditer(text):
        match block[1]:
            case "console":
                commands += check_commands(block[2], capsys)
            case "csv":
                Path("Order.csv").write_text(block[2], "utf-8")
            case "json":
                Path("printed.json").write_text(block[2], "utf-8")
            case "toml":
                Path("pyproject.toml").write_text(block[2], "utf-8")
            case _ if not file.exists():
                file.write_text("from __future__ import annotations\n\n" + block[2], "utf-8")
            case _:
                pass
    assert commands == count


def test_tables_are_deployed_as_the_guide_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "how-to" / "deploy-tables.md").read_text("utf-8")
    [block] = [found[2] for found in BLOCK.finditer(text) if found[1] == "console"]
    assert check_commands(block, capsys) == 2


def test_a_design_is_reviewed_as_the_guide_shows(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "how-to" / "review-a-design.md").read_text("utf-8")
    blocks = [found[2] for found in BLOCK.finditer(text) if found[1] == "console"]
    assert [check_commands(each, capsys) for each in blocks] == [1]


def test_the_read_me_shows_what_the_demo_prints(demo_run: DemoRun) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    [block] = re.findall(r"^```console\n\$ make demo\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    shown = block.splitlines()
    assert find_wrong_lines(shown, demo_run.text) == []
    assert len(shown) > 10
