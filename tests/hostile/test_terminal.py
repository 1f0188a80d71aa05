"""Stored values do not control the terminal that they are printed to."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from keyfold.cli import main
from keyfold.cli._shell._completion import complete
from keyfold.cli._shell._names import Names
from keyfold.cli._terminal import make_console, print_rows
from keyfold.engine import Engine
from keyfold.errors import KeyfoldError
from keyfold.terminals import EscapedStream, escape_controls, escaped_output
from keyfold.wire.server._access_log import AccessLog
from keyfold.wire.server._answers import answer_plain
from keyfold.wire.server._failures import report_failure
from keyfold.wire.server._requests import HttpRequest
from tests.unit.cli.shop import Order, shop, write_shop

pty = pytest.importorskip("pty")

ROOT = Path(__file__).resolve().parents[2]

# Sets the title, writes to the clipboard, erases the screen (with ESC, and in one C1 character), reverses
# text, overwrites the line, rings, makes a link, separates lines.
PAYLOAD = (
    "\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x1b\\\x1b[2J\x9b2J\u202eevil\u2066x\u2069\r\x08\x7f"
    "\x1b]8;;http://evil.example\x1b\\link\x85\u2028\u200f\u061c\x00\x0b"
)
UNSAFE = {
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
} - {"\n", "\t"}


def show_on_terminal(code: str, term: str = "dumb", **environment: str) -> str:
    """Return what a Python program shows on a terminal, which ends lines with CR LF."""
    screen, inside = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=inside,
        stderr=inside,
        cwd=ROOT,
        env={**os.environ, "TERM": term, "COLUMNS": "200", **environment},
    ) as program:
        os.close(inside)
        shown = b""
        while True:
            try:
                read = os.read(screen, 65_536)
            except OSError:  # Linux's end of a terminal
                break
            if not read:
                break
            shown += read
        program.wait()
    os.close(screen)
    return shown.decode().replace("\r\n", "\n")


def call_main(*words: str) -> str:
    return f"from keyfold.cli import main; main({list(words)!r})"


def unfold(text: str) -> str:
    """Return a text without the spaces and newlines by which a cell is folded."""
    return "".join(text.split())


def unsafe_in(text: str) -> set[str]:
    return UNSAFE.intersection(text)


@pytest.fixture
def database(tmp_path: Path) -> str:
    path = tmp_path / "shop.db"
    write_shop(path)
    with shop.open(str(path)) as store:
        store.run(Order(user="eve", number=1, city=PAYLOAD, total=1).put())
    return str(path)


def test_every_control_character_is_escaped() -> None:
    every = "".join(map(chr, range(0x3000)))
    shown = escape_controls(every)
    assert unsafe_in(shown) == set()
    assert escape_controls("tab\tline\nnaïve 日本 🙂 👩‍🚀") == "tab\tline\nnaïve 日本 🙂 👩‍🚀"
    assert escape_controls(escape_controls(PAYLOAD)) == escape_controls(PAYLOAD)
    assert escape_controls("\udcff").encode() == b"\\udcff"


ORDERS = ("run", "orders of a user", "--table", "tests.unit.cli.shop:shop", "--user", "eve")
SELECT = "SELECT * FROM Shop WHERE pk = 'USER#eve'"


@pytest.mark.parametrize("term", ["dumb", "xterm-256color"])
@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("command", ["run", "sql"])
def test_a_stored_value_is_escaped(
    database: str, command: str, flags: tuple[str, ...], term: str
) -> None:
    words = (*ORDERS, "--db", database) if command == "run" else ("sql", SELECT, "--db", database)
    shown = show_on_terminal(call_main(*words, *flags), term)
    assert "evil" in shown
    assert "\x1b]" not in shown
    # The program's own styles, and its display of progress.
    assert unsafe_in(shown) <= ({"\x1b", "\r"} if term != "dumb" else set())
    assert "\\u202eevil" in unfold(shown)
    if flags:
        document = json.loads(shown[shown.index("{") : shown.rindex("}") + 1])
        assert PAYLOAD in find_strings(document)


def find_strings(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [each for member in cast(list[Any], value) for each in find_strings(member)]
        case dict():
            members = cast(dict[str, Any], value).values()
            return [each for member in members for each in find_strings(member)]
        case _:
            return []


@pytest.mark.parametrize("entry", [SELECT, "orders_of --user eve", "keys Shop", "json on"])
def test_the_shell_escapes_what_it_shows(database: str, entry: str) -> None:
    lines = f"{entry};\n" if entry == SELECT else f"{entry}\n{SELECT};\n"
    code = f"""
import io, sys
sys.stdin = io.StringIO({lines!r})
from keyfold.cli import main
main(["shell", "--table", "tests.unit.cli.shop:shop", "--db", {database!r}])
"""
    shown = show_on_terminal(code)
    assert "\\u202eevil" in unfold(shown)
    assert unsafe_in(shown) == set()


def test_errors_are_escaped_for_terminals_and_files(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", f"no {PAYLOAD}", "--table", "tests.unit.cli.shop:shop", "--db", database]
    for flags in ([], ["--json"]):
        with pytest.raises(SystemExit):
            main([*words, *flags])
        shown = capsys.readouterr().err
        assert "u202eevil" in shown
        assert unsafe_in(shown) == set()


def test_a_traceback_is_escaped() -> None:
    code = f"""
from keyfold.terminals import escaped_output
with escaped_output():
    raise ValueError({PAYLOAD!r})
"""
    shown = show_on_terminal(code)
    assert "ValueError: \\u001b]0;owned" in shown
    assert unsafe_in(shown) == set()


def test_logs_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("tests.hostile.terminal")
    with escaped_output():
        handler = logging.StreamHandler(sys.stderr)
        logger.addHandler(handler)
        logger.warning("item %s", PAYLOAD)
        logger.removeHandler(handler)
    shown = capsys.readouterr().err
    assert "evil" in shown
    assert unsafe_in(shown) == set()


def test_reports_of_failures_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    report_failure("GetItem", ValueError(PAYLOAD), "1")
    report_failure("GetItem", KeyfoldError(PAYLOAD), "2")
    shown = capsys.readouterr().err
    assert shown.count("evil") >= 2
    assert unsafe_in(shown) == set()


def test_the_access_log_is_escaped() -> None:
    stream = io.StringIO()
    request = HttpRequest(b"GET", b"/\x9b2J\x85\x7f", {}, b"", True, None)
    AccessLog(stream).note("peer", "", request, answer_plain(404, "no"), 0.0, "id")
    (line,) = stream.getvalue().splitlines()
    assert unsafe_in(line) == set()
    assert json.loads(line)["url"] == "/\x9b2J\x85\x7f"


def test_what_is_piped_is_data(database: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*ORDERS, "--db", database, "--json"])
    shown = capfd.readouterr().out
    assert "\u202eevil" in shown
    assert PAYLOAD in find_strings(json.loads(shown))


def test_tables_have_the_width_of_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(make_console(), [{"a": "\x1b[2J", "b": "x"}, {"a": "1", "b": "y"}])
    first, second, third = (line.rstrip() for line in capsys.readouterr().out.splitlines())
    assert first.index("b") == second.index("x") == third.index("y")


def test_names_of_attributes_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(make_console(), [{PAYLOAD: PAYLOAD}])
    shown = capsys.readouterr().out
    assert "evil" in shown
    assert unsafe_in(shown) == set()


def test_the_shell_does_not_complete_what_it_cannot_show(tmp_path: Path) -> None:
    path = str(tmp_path / "shop.db")
    with shop.open(path) as store:
        for user in (f"eve{PAYLOAD}", "everyone"):
            store.run(Order(user=user, number=1, city="Graz", total=1).put())
    with Engine.open(path, upkeep_seconds=None) as engine:
        found = complete("SELECT * FROM Shop WHERE pk = 'USER#eve", Names(engine, [shop]))
    assert [each for each in found.candidates if "eve" in each] == ["USER#everyone'"]


def test_an_escaped_stream_is_a_stream() -> None:
    below = io.StringIO()
    stream = EscapedStream(below)
    assert stream.write("a\x1b") == 2
    stream.writelines(["b\x07", "c"])
    stream.flush()
    assert below.getvalue() == "a\\u001bb\\u0007c"
    assert not stream.isatty()


def test_the_streams_are_given_back() -> None:
    before = sys.stdout, sys.stderr
    with escaped_output():
        assert isinstance(sys.stderr, EscapedStream)
        with escaped_output():
            assert not isinstance(sys.stderr.rich_proxied_file, EscapedStream)
    assert (sys.stdout, sys.stderr) == before
