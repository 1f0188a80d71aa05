"""Services of designs in processes of their own: `keyfold api` on a free port."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_STOP_SECONDS = 20


@contextmanager
def running_service(*arguments: str, folder: Path) -> Generator[str]:
    """Run `keyfold api` with arguments in a folder, and return its URL; it is stopped at the end."""
    command = [sys.executable, "-m", "keyfold", "api", *arguments, "--port", "0", "--json"]
    log = folder / "service.log"
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, log.read_text("utf-8")
            yield json.loads(line)["url"]
        finally:
            process.terminate()
            process.wait(_STOP_SECONDS)
    assert process.returncode == 0, log.read_text("utf-8")
