"""The shell's history, in a file that only the user can read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from keyfold.cli._databases import find_state_folder

_KEPT = 1000


def find_history_file(environment: Mapping[str, str], home: Path) -> Path | None:
    """Return the path of the history file; None if KEYFOLD_HISTORY is empty, for no history."""
    given = environment.get("KEYFOLD_HISTORY")
    if given is not None:
        return Path(given).expanduser() if given else None
    return find_state_folder(environment, home) / "history"


class History:
    """The lines entered, oldest first; saved in a file unless it cannot be used."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.entries = self._load()

    def _load(self) -> list[str]:
        if self._file is None:
            return []
        try:
            lines = self._file.read_text("utf-8", errors="replace").rstrip("\n").split("\n")
        except OSError:
            return []
        kept = [line for line in lines[-_KEPT:] if line]
        # Truncate when the file has twice the limit, not with each entry.
        if len(lines) > 2 * _KEPT:
            self._write("".join(f"{line}\n" for line in kept), os.O_TRUNC)
        return kept

    def add(self, entry: str) -> list[str]:
        """Add an entry; return its history lines, none if it repeats the last entry."""
        # A comment ends with its line, so lines are joined only if the entry has no comment.
        lines = entry.split("\n") if "--" in entry else [" ".join(entry.split("\n"))]
        if lines == self.entries[-len(lines) :]:
            return []
        self.entries += lines
        self._write("".join(f"{line}\n" for line in lines), os.O_APPEND)
        return lines

    def _write(self, text: str, flag: int) -> None:
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | flag, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
                os.chmod(self._file, 0o600)  # noqa: PTH101 - the file may have been there before
                file.write(text)
        except OSError:
            self._file = None
