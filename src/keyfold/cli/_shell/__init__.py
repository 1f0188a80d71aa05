"""The parts of `keyfold shell`: entries, names, completion, history, session and prompt."""

from __future__ import annotations

from keyfold.cli._shell._history import History, find_history_file
from keyfold.cli._shell._prompt import run_lines, run_prompt
from keyfold.cli._shell._session import Session

__all__ = ["History", "Session", "find_history_file", "run_lines", "run_prompt"]
