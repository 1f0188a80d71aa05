from __future__ import annotations

import inspect
import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from unittest import mock

import pytest

import keyfold
from keyfold.cli import app, main
from keyfold.engine import Engine
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


@pytest.mark.parametrize("columns", ["50", "80"])
def test_help_cuts_no_summary(run: Run, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for arguments in ((), ("stream",), ("keys",)):
        shown = run(*arguments, "--help").out
        assert "..." not in shown.replace("[ARGS]...", "")
        assert "…" not in shown
        assert max(map(len, shown.splitlines())) <= int(columns)
    assert "Show what `keyfold apply` would change, without changing it." in " ".join(
        run("--help").out.split()
    )


@pytest.mark.parametrize("arguments", [[], ["stream"], ["stream", "follow"], ["run"], ["patterns"]])
def test_h_is_help(run: Run, arguments: list[str]) -> None:
    outcome = run(*arguments, "-h")
    assert outcome.code == 0
    assert outcome.out == run(*arguments, "--help").out


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


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["verify", "absent.db"], "file-unreachable", "cannot open absent.db: there is no such"),
        (["sql", "SELECT", "--db", "made.db"], "ValidationException", "ValidationException: "),
        (["sql", "SELECT * FROM xyz", "--db", "made.db"], "table-missing", "made.db: there is no"),
        (["verify"], "usage", "Invalid value: give a FILE"),
        (["verify", "made.db", "--nonsense"], "usage", "No such option"),
        (["run", "market", "bonuses", "--db", "made.db"], "usage", "Missing --user: "),
        (
            ["stream", "dead-letters", "markt", "--db", "made.db"],
            "usage",
            "Invalid value for TABLE: ",
        ),
        (["unheard-of"], "usage", "No such command"),
    ],
)
def test_errors_are_json_on_request(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Engine.open("made.db", upkeep_seconds=None).close()
    outcome = run(*arguments, "--json")
    assert (outcome.code, outcome.out) == (2, "")
    [line] = outcome.err.splitlines()
    result = json.loads(line)
    assert result.keys() == {"error"}
    assert result["error"]["code"] == code
    assert result["error"]["message"].startswith(message)
    plain = run(*arguments)
    assert (plain.code, plain.out) == (2, "")
    assert message in plain.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["stream", "follow", "market", "--db", "made.db", "--start", "middle"],
            "keyfold: --start: got 'middle'. Give 'oldest' or 'latest'. [option-invalid]\n",
        ),
        (
            ["stream", "follow", "market", "--db", "made.db", "--name=a/b"],
            "keyfold: --name: got 'a/b'. Give 1 to 100 letters",
        ),
        (
            ["dump", "x.csv", "--db", "made.db", "--table", "market", "--entity", "Nobody"],
            "keyfold: --entity: got 'Nobody'. Market has User, ",
        ),
        (
            ["load", "x.csv", "--db", "made.db", "--name", "Market"],
            "keyfold: --table: got None. x.csv is CSV, which needs the declaration of the table. ",
        ),
        (
            ["load", "x.jsonl", "--db", "absent.db", "--create"],
            "Invalid value for --create: creating a table needs its declaration; give --table",
        ),
        (
            ["copy", "made.db", "absent.db", "--read-rate", "0"],
            "Invalid value for '--read-rate': got 0; give capacity units per second, above 0",
        ),
        (
            ["stream", "follow", "market", "--db", "made.db", "--no-setup"],
            "or `keyfold stream follow --setup`, to create it",
        ),
    ],
)
def test_errors_name_the_options_of_the_command(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("apply", "market", "--db", "made.db").code == 0
    Path("x.csv").write_text("a,b\n")
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert not Path("absent.db").exists()


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_eof_error_causes_no_traceback(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    Engine.open(tmp_path / "made.db", upkeep_seconds=None).close()
    monkeypatch.setattr(Engine, "verify", mock.Mock(side_effect=EOFError))
    outcome = run("verify", tmp_path / "made.db", *options)
    assert (outcome.code, outcome.out) == (1, "")


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
