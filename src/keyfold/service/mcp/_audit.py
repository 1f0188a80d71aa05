"""The audit log: one line of JSON for each call of a tool, written before its answer is returned."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from keyfold.clocks import Clock
from keyfold.errors import OptionInvalid
from keyfold.service._problems import refuse

_MODE = 0o600
_ID_BYTES = 8
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What is known of a call before it runs; `id` is shared by all lines about it."""

    id: str
    principal: str
    caller: str
    tool: str
    # The names of parameters of the tool that have values, and how many others were given.
    arguments: tuple[str, ...]
    unknown_arguments: int
    # Equal for equal values, which cannot be found from it.
    values: str


class AuditLog:
    """Appends to a file that only its owner may read; it is created if it does not exist.

    Values of arguments are not written: only an HMAC of all of them, with a key that is made when the
    log is opened. So calls of one run can be compared, and values cannot be guessed. Raises
    OptionInvalid if the file cannot be opened.
    """

    def __init__(self, path: Path, *, clock: Clock = time.time, key: bytes | None = None) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32) if key is None else key
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
            self._file = os.open(path, flags, _MODE)
        except OSError as error:
            fact = f"It cannot be opened: {error.strerror or error}."
            raise OptionInvalid("audit", str(path), fact) from None

    def describe(
        self,
        *,
        principal: str,
        caller: str,
        tool: str,
        arguments: Mapping[str, Any],
        known: Collection[str],
    ) -> AuditEntry:
        """Return what can be said of a call before it runs."""
        try:
            text = json.dumps(arguments, sort_keys=True, default=repr)
        except RecursionError:
            text = "nested too deep"
        return AuditEntry(
            id=secrets.token_hex(_ID_BYTES),
            principal=principal,
            caller=caller,
            tool=tool[:_LONGEST_NAME],
            # An agent may give any names, even secrets.
            arguments=tuple(each for each in known if each in arguments),
            unknown_arguments=len(arguments.keys() - set(known)),
            values=hmac.new(
                self._key, text.encode("utf-8", "backslashreplace"), hashlib.sha256
            ).hexdigest(),
        )

    def begin(self, entry: AuditEntry) -> None:
        """Write that a call which writes is about to run; raises a problem if that fails."""
        self._write(entry, event="begin")

    def end(self, entry: AuditEntry, *, status: str, items: int, units: float) -> None:
        """Write how a call ended: "ok", or the code of its error; raises a problem if that fails."""
        self._write(entry, event="end", status=status, items=items, units=units)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _write(self, entry: AuditEntry, **facts: str | float) -> None:
        moment = datetime.fromtimestamp(self._clock(), UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds"),
            "call": entry.id,
            "principal": entry.principal,
            "caller": entry.caller,
            "tool": entry.tool,
            "arguments": entry.arguments,
            "unknown_arguments": entry.unknown_arguments,
            "values": entry.values,
            **facts,
        }
        # ASCII: no name that an agent makes up can look like another line.
        data = (
            json.dumps({name: each for name, each in line.items() if each != ""}).encode() + b"\n"
        )
        try:
            # Not through a buffer: the line is the system's before the answer is the agent's.
            if os.write(self._file, data) == len(data):
                return
        except OSError:
            pass
        detail = "The audit log cannot be written, so no call is answered. Tell the operator."
        raise refuse(503, "audit-failed", detail)
