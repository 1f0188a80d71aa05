"""The help of the program: every command's summary in full."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

# More than any summary has.
_ANY_LENGTH = 1_000


class WrappedHelpGroup(TyperGroup):
    """A group of commands whose help wraps the commands' summaries instead of cutting them."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names and summaries of the commands."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, command.get_short_help_str(_ANY_LENGTH))
            for name, command in commands
            if command is not None and not command.hidden
        ]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)
