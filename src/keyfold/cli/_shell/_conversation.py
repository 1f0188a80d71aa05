"""The prompt: lines from a terminal, or from anywhere else."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

from keyfold.cli._shell._completion import to_matches
from keyfold.cli._shell._entries import Entries, begins_statement
from keyfold.cli._shell._history import History
from keyfold.cli._shell._session import Session

PROMPT = "keyfold> "
MORE_PROMPT = "    ...> "


def answer_lines(session: Session, lines: Iterable[str]) -> bool:
    """Answer lines that nobody is typing, and tell whether all of them succeeded."""
    entries = Entries(session.names.is_pattern)
    succeeded = True
    number = 0
    for number, line in enumerate(lines, 1):
        for entry in entries.add(line.rstrip("\n")):
            succeeded = session.answer(entry, f"line {number}: ") and succeeded
            if session.is_over:
                return succeeded
    for entry in entries.take():
        succeeded = session.answer(entry, f"line {number}: ") and succeeded
    return succeeded


def converse(session: Session, history: History) -> None:
    """Answer what is typed at a terminal, until it is enough."""
    entries = Entries(session.names.is_pattern)
    recall = _prepare_readline(session, history, lambda: entries.pending)
    while not session.is_over:
        try:
            line = input(MORE_PROMPT if entries.pending else PROMPT)
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            # What was typed is dropped.
            print()
            entries.take()
            continue
        for entry in entries.add(line):
            for recalled in history.add(_end(entry, session)):
                recall(recalled)
            try:
                session.answer(entry)
            except KeyboardInterrupt:
                print("\nInterrupted.")
            if session.is_over:
                break


def _end(entry: str, session: Session) -> str:
    """Return an entry with what ends it, so that it is whole when it is recalled."""
    if not begins_statement(entry) or session.names.is_pattern(entry):
        return entry
    # A comment would swallow it on the same line.
    return f"{entry}\n;" if "--" in entry else f"{entry};"


def _prepare_readline(
    session: Session, history: History, pending: Callable[[], str]
) -> Callable[[str], None]:
    """Set up editing, completion and recall; return what adds a line that can be recalled."""
    try:
        readline: Any = importlib.import_module("readline")
    except ImportError:
        # Not every Python is built with it.
        return lambda _: None
    matches: list[str] = []

    def complete(_: str, state: int) -> str | None:
        if state == 0:
            line = readline.get_line_buffer()[: readline.get_endidx()]
            matches[:] = to_matches(pending(), line, readline.get_begidx(), session.names)
        return matches[state] if state < len(matches) else None

    readline.set_completer(complete)
    # Words end at spaces alone: where a completion begins is for `complete` to say.
    readline.set_completer_delims(" \t\n")
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
    # An entry of several lines is recalled as a whole.
    readline.set_auto_history(False)
    readline.clear_history()
    for line in history.entries:
        readline.add_history(line)
    return readline.add_history
