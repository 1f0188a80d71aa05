"""What `keyfold shell` is made of: entries, names, completion, the session, the terminal."""

from __future__ import annotations

from keyfold.cli._shell._conversation import answer_lines, converse
from keyfold.cli._shell._history import History, find_history_file
from keyfold.cli._shell._session import Session

__all__ = ["History", "Session", "answer_lines", "converse", "find_history_file"]
