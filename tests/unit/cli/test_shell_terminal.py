"""The shell as a user sees it, in a pseudo-terminal."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.shop import write_shop

pytest.importorskip("readline")
pty = pytest.importorskip("pty")

ROOT = Path(__file__).resolve().parents[3]
# Ctrl-C only reaches programs whose controlling terminal it is typed into.
# Programs that a shell starts in the background inherit an ignored SIGINT; so would this one.
START = """
import fcntl, signal, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, signal.default_int_handler)
from keyfold.cli import main
main(["shell", "--table", "tests.unit.cli.shop:shop"])
"""
TIMEOUT_SECONDS = 60
# Where it cannot be seen that a program waits for a key: how long until Ctrl-C is pressed again.
SIGNAL_SECONDS = 5
PROMPT = "keyfold> "


class Terminal:
    """A program in a pseudo-terminal, and what it displays."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._screen, inside = pty.openpty()
        self.program = subprocess.Popen(
            [sys.executable, "-c", START],
            stdin=inside,
            stdout=inside,
            stderr=inside,
            cwd=ROOT,
            env={**os.environ, "TERM": "dumb", "COLUMNS": "120", **environment},
            start_new_session=True,
        )
        os.close(inside)
        self._unread = ""

    def read_until(self, text: str) -> str:
        """Wait for a text to appear; return the output up to and including it."""
        while text not in self._unread:
            ready, _, _ = select.select([self._screen], [], [], TIMEOUT_SECONDS)
            assert ready, f"{text!r} does not appear after {self._unread!r}"
            self._unread += os.read(self._screen, 4096).decode()
        shown, _, self._unread = self._unread.partition(text)
        return shown + text

    def interrupt_until(self, text: str) -> None:
        """Press Ctrl-C repeatedly, as a user would, until a text appears."""
        for _ in range(TIMEOUT_SECONDS // SIGNAL_SECONDS):
            self._wait_until_it_sleeps()
            self.type("\x03")
            while select.select([self._screen], [], [], SIGNAL_SECONDS)[0]:
                self._unread += os.read(self._screen, 4096).decode()
                if text in self._unread:
                    self.read_until(text)
                    return
        raise AssertionError(f"{text!r} does not appear after {self._unread!r}")

    def _wait_until_it_sleeps(self) -> None:
        """Wait until the program waits for a key: a signal just before goes unnoticed."""
        status = Path(f"/proc/{self.program.pid}/stat")
        while status.exists() and status.read_text().rpartition(") ")[2][0] != "S":
            select.select([], [], [], 0.001)

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self._screen, text.encode())

    def close(self) -> None:
        """Kill the program if it is still running."""
        self.program.kill()
        self.program.wait()
        os.close(self._screen)


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "history"


@pytest.fixture
def terminal(tmp_path: Path, history: Path) -> Iterator[Terminal]:
    write_shop(tmp_path / "shop.db")
    db = str(tmp_path / "shop.db")
    terminal = Terminal({"KEYFOLD_DB": db, "KEYFOLD_HISTORY": str(history)})
    try:
        terminal.read_until(PROMPT)
        yield terminal
    finally:
        terminal.close()


def test_tab_completes_and_history_recalls_entries(terminal: Terminal, history: Path) -> None:
    terminal.type("SELECT sk FROM Sh\t")
    terminal.read_until("Shop")
    terminal.type(" WHERE pk = 'USER#a\t")
    terminal.read_until("'USER#ada'")
    terminal.type(";\r")
    assert "ORDER#0003" in terminal.read_until("3 items, 0.5 capacity units")
    terminal.read_until(PROMPT)
    # Ctrl-P recalls it.
    terminal.type("\x10\r")
    terminal.read_until("SELECT sk FROM Shop WHERE pk = 'USER#ada';")
    terminal.read_until("3 items, 0.5 capacity units")
    terminal.read_until(PROMPT)
    # Ctrl-D leaves.
    terminal.type("\x04")
    assert terminal.program.wait(TIMEOUT_SECONDS) == 0
    assert history.read_text("utf-8") == "SELECT sk FROM Shop WHERE pk = 'USER#ada';\n"
    assert history.stat().st_mode & 0o777 == 0o600


def test_ctrl_c_discards_the_input_and_errors_do_not_end_the_shell(terminal: Terminal) -> None:
    terminal.type("SELECT sk\r")
    terminal.read_until("...> ")
    terminal.type("FROM")
    terminal.read_until("FROM")
    terminal.interrupt_until(PROMPT)
    terminal.type("nonsense\r")
    terminal.read_until("Shop has no pattern 'nonsense'")
    terminal.read_until(PROMPT)
    terminal.type("tables\r")
    terminal.read_until("day-log")
    terminal.read_until(PROMPT)
    terminal.type("exit\r")
    assert terminal.program.wait(TIMEOUT_SECONDS) == 0
