"""Small Python programs that run in separate processes and exchange lines with a test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[4]
# Long enough for the busiest machine; only a program that hangs takes longer.
TIMEOUT_SECONDS = 300


def run_program(source: str, *arguments: object) -> str:
    """Run a program to its end; return what it printed."""
    ended = subprocess.run(
        [sys.executable, "-c", source, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


class Program:
    """A program that runs beside the test and exchanges lines with it."""

    def __init__(self, source: str, *arguments: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", source, *map(str, arguments)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def read_line(self) -> str:
        """Wait for a line and return it."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def send_line(self, line: str = "") -> None:
        """Send a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def end(self) -> str:
        """Wait for the program to end; return the rest of its output."""
        printed, _ = self._process.communicate(timeout=TIMEOUT_SECONDS)
        assert self._process.returncode == 0
        return printed.strip()

    def stop(self) -> None:
        """Kill the program if it is still running."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def running(source: str, *arguments: object) -> Generator[Program]:
    """Run a program for as long as the block."""
    program = Program(source, *arguments)
    try:
        yield program
    finally:
        program.stop()
