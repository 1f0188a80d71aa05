"""Sessions that pages show: `keyfold api` in a process of its own, and curl with its answers."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from tests.services import running_service

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_URL = re.compile(r"http://127\.0\.0\.1:(\d+)")
_API = "keyfold api "
# A page may leave out what differs each time.
_LEFT_OUT = "…"
_DEFAULT_PORT = "8080"


class ShownCommand(NamedTuple):
    """A command of a session, and what the page shows of its output."""

    line: str
    output: str


def find_session(text: str) -> list[ShownCommand]:
    """Return the commands of a page's sessions, in order: those that start services, and curl."""
    found = [each for block in _BLOCK.findall(text) for each in _split(block)]
    return [each for each in found if each.line.startswith((_API, "curl "))]


def _split(block: str) -> Iterator[ShownCommand]:
    for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        # A backslash continues a line.
        joined = command.replace("\\\n", "")
        line, _, output = joined.partition("\n")
        yield ShownCommand(line, output)


def run_session(commands: list[ShownCommand], folder: Path) -> list[str]:
    """Run the commands of a session, and return those that print something else than is shown."""
    addresses: dict[str, str] = {}
    wrong: list[str] = []
    with ExitStack() as services:
        for line, shown in commands:
            if line.startswith(_API):
                port, arguments = _read_port(shlex.split(line)[2:])
                service = running_service(*arguments, folder=folder)
                addresses[port] = services.enter_context(service)
                assert f"http://127.0.0.1:{port}" in shown
                continue
            command = _URL.sub(lambda found: addresses[found[1]], line)
            done = subprocess.run(
                ["bash", "-c", f"curl --noproxy '*' --silent --max-time 60{command[4:]}"],
                capture_output=True,
                text=True,
                check=False,
                cwd=folder,
            )
            if done.returncode or not is_shown(shown, done.stdout):
                wrong.append(f"$ {line}\n{done.stdout}{done.stderr}\ninstead of\n{shown}")
    return wrong


def is_shown(shown: str, output: str) -> bool:
    """Return whether a page shows an output; line breaks and blanks may differ."""
    parts = ("".join(part.split()) for part in shown.split(_LEFT_OUT))
    pattern = ".*".join(map(re.escape, parts))
    return re.fullmatch(pattern, "".join(output.split()), re.DOTALL) is not None


def _read_port(arguments: list[str]) -> tuple[str, list[str]]:
    """Return the port that a command names, and its other arguments."""
    if "--port" not in arguments:
        return _DEFAULT_PORT, arguments
    place = arguments.index("--port")
    return arguments[place + 1], arguments[:place] + arguments[place + 2 :]
