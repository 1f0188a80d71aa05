"""Small Python programs in processes of their own, and how tests talk with them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[4]
# For one that hangs: however busy the machine is, it takes less.
PATIENCE_SECONDS = 300


def run_program(source: str, *arguments: object) -> str:
    """Run a program to its end; return what it printed."""
    ended = subprocess.run(
        [sys.executable, "-c", source, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


class Program:
    """A program that runs beside the test: a line in, a line out."""

    def __init__(self, source: str, *arguments: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", source, *map(str, arguments)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> str:
        """Wait for a line."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def tell(self, line: str = "") -> None:
        """Send a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def end(self) -> str:
        """Let it run out; return what else it printed."""
        printed, _ = self._process.communicate(timeout=PATIENCE_SECONDS)
        assert self._process.returncode == 0
        return printed.strip()

    def stop(self) -> None:
        """End it, if it has not."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def running(source: str, *arguments: object) -> Generator[Program]:
    """A program that does not outlive the test."""
    program = Program(source, *arguments)
    try:
        yield program
    finally:
        program.stop()
