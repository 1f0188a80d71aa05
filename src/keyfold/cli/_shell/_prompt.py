"""The prompt loop: lines from a terminal, or from a file or pipe."""

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


def run_lines(session: Session, lines: Iterable[str]) -> bool:
    """Run the entries of lines from a file or pipe; return whether all of them succeeded."""
    entries = Entries(session.names.is_pattern)
    succeeded = True
    number = 0
    for number, line in enumerate(lines, 1):
        for entry in entries.add(line.rstrip("\n")):
            succeeded = session.run(entry, f"line {number}: ") and succeeded
            if session.is_over:
                return succeeded
    for entry in entries.take():
        succeeded = session.run(entry, f"line {number}: ") and succeeded
    return succeeded


def run_prompt(session: Session, history: History) -> None:
    """Run the entries typed at a terminal, until the user exits."""
    entries = Entries(session.names.is_pattern)
    recall = _prepare_readline(session, history, lambda: entries.pending)
    while not session.is_over:
        try:
            line = input(MORE_PROMPT if entries.pending else PROMPT)
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            # Ctrl-C drops the entry typed so far.
            print()
            entries.take()
            continue
        for entry in entries.add(line):
            for recalled in history.add(_end(entry, session)):
                recall(recalled)
            try:
                session.run(entry)
            except KeyboardInterrupt:
                print("\nInterrupted.")
            if session.is_over:
                break


def _end(entry: str, session: Session) -> str:
    """Return an entry with its semicolon, so that it is complete when recalled."""
    if not begins_statement(entry) or session.names.is_pattern(entry):
        return entry
    # On the same line, the semicolon would become part of a comment.
    return f"{entry}\n;" if "--" in entry else f"{entry};"


def _prepare_readline(
    session: Session, history: History, pending: Callable[[], str]
) -> Callable[[str], None]:
    """Set up editing, completion and history; return a function that adds a history line."""
    try:
        readline: Any = importlib.import_module("readline")
    except ImportError:
        # Not every Python is built with readline.
        return lambda _: None
    matches: list[str] = []

    def complete(_: str, state: int) -> str | None:
        if state == 0:
            line = readline.get_line_buffer()[: readline.get_endidx()]
            matches[:] = to_matches(pending(), line, readline.get_begidx(), session.names)
        return matches[state] if state < len(matches) else None

    readline.set_completer(complete)
    # Only whitespace delimits words: `complete` finds out itself where a completion begins.
    readline.set_completer_delims(" \t\n")
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
    # Entries are added by hand, so that one of several lines is recalled as a whole.
    readline.set_auto_history(False)
    readline.clear_history()
    for line in history.entries:
        readline.add_history(line)
    return readline.add_history
