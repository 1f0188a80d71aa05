from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

import keyfold
from keyfold.cli import app, main
from tests.unit.cli.program import Run

COMMANDS = sorted(
    command.callback.__name__ for command in app.registered_commands if command.callback is not None
)


def test_version_is_printed(run: Run) -> None:
    outcome = run("--version")
    assert (outcome.code, outcome.out) == (0, f"keyfold {keyfold.__version__}\n")


def test_help_lists_every_command(run: Run) -> None:
    outcome = run("--help")
    assert outcome.code == 0
    for command in COMMANDS:
        assert f"\n  {command} " in outcome.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_shows_examples(run: Run, command: str) -> None:
    outcome = run(command, "--help")
    assert outcome.code == 0
    assert f"\n    keyfold {command}" in outcome.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_json(command: str) -> None:
    [function] = [
        registered.callback
        for registered in app.registered_commands
        if registered.callback is not None and registered.callback.__name__ == command
    ]
    assert "as_json" in inspect.signature(function).parameters


@pytest.mark.parametrize("arguments", [["unheard-of"], ["verify"], ["demo", "--nonsense"]])
def test_bad_usage_exits_with_two(run: Run, arguments: list[str]) -> None:
    outcome = run(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "Usage: keyfold" in outcome.err


def test_without_arguments_help_is_shown(run: Run) -> None:
    outcome = run()
    assert "Commands:" in outcome.out + outcome.err


def test_help_loads_neither_pydantic_nor_the_engine() -> None:
    code = (
        "import sys\n"
        "from keyfold.cli import main\n"
        "try:\n"
        "    main(['--help'])\n"
        "finally:\n"
        "    print(*sys.modules, file=sys.stderr)\n"
    )
    helped = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    loaded = {".".join(name.split(".")[:2]) for name in helped.stderr.split()}
    assert "keyfold.cli" in loaded
    assert loaded.isdisjoint({"pydantic", "keyfold.engine", "keyfold.values", "apsw", "orjson"})


def test_the_program_is_installed() -> None:
    [script] = entry_points(group="console_scripts", name="keyfold")
    assert script.load() is main
