"""Errors of an engine: its file, its server and its options."""

from __future__ import annotations

from keyfold.errors._base import KeyfoldError


class OptionInvalid(KeyfoldError, ValueError):
    """An option, such as one of `Engine.open`, has an invalid value."""

    code = "option-invalid"

    def __init__(self, option: str, received: object, advice: str) -> None:
        super().__init__(option, received, advice)
        self.option, self.received, self.advice = option, received, advice

    def __str__(self) -> str:
        return f"{self.option}: got {self.received!r}. {self.advice} [{self.code}]"


class InsightsOff(KeyfoldError, LookupError):
    """The hottest keys were requested, but contributor insights are disabled."""

    code = "insights-off"

    def __init__(self, table: str, index: str | None) -> None:
        super().__init__(table, index)
        self.table, self.index = table, index

    def __str__(self) -> str:
        owner = f"table {self.table}" if self.index is None else f"index {self.index}"
        return (
            f"{owner}: its keys are not counted. Enable its contributor insights first: "
            f'execute("UpdateContributorInsights", …). [{self.code}]'
        )


class AddressUnavailable(KeyfoldError, OSError):
    """A server cannot listen on the given address."""

    code = "address-unavailable"

    def __init__(self, host: str, port: int, detail: str) -> None:
        super().__init__(host, port, detail)
        self.host, self.port, self.detail = host, port, detail

    def __str__(self) -> str:
        return (
            f"cannot listen on {self.host}, port {self.port}: {self.detail}. "
            f"Give another port, or port 0 for any free one. [{self.code}]"
        )


class KeysUnusable(KeyfoldError, ValueError):
    """A file of access keys is invalid; its content is never shown."""

    code = "keys-unusable"

    def __init__(self, path: str, fact: str, advice: str) -> None:
        super().__init__(path, fact, advice)
        self.path, self.fact, self.advice = path, fact, advice

    def __str__(self) -> str:
        return f"{self.path}: {self.fact}. {self.advice} [{self.code}]"


class WorkerFailed(KeyfoldError, RuntimeError):
    """One of a server's worker processes exited as soon as it was started."""

    code = "worker-failed"

    def __init__(self, number: int, status: int) -> None:
        super().__init__(number, status)
        self.number, self.status = number, status

    def __str__(self) -> str:
        return (
            f"worker {self.number} exited right after its start, with status {self.status}. "
            f"Its output says why. [{self.code}]"
        )


class EngineClosed(KeyfoldError, ValueError):
    """An engine was used after it was closed."""

    code = "engine-closed"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"engine on {self.path}: it is closed. Open another. [{self.code}]"


class EngineForked(KeyfoldError, RuntimeError):
    """A file that was open at a fork was used, or opened again, in the child process."""

    code = "engine-forked"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return (
            f"engine on {self.path}: the file was open when this process forked. Open it after "
            f"the fork, or start the process with multiprocessing's spawn. [{self.code}]"
        )


class _FileError(KeyfoldError, OSError):
    """Base of errors about the database file at `path`."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(path, detail)
        self.path, self.detail = path, detail


class FileUnreachable(_FileError):
    """The file cannot be opened: a missing folder, no permission, a read-only disk."""

    code = "file-unreachable"

    def __str__(self) -> str:
        return f"cannot open {self.path}: {self.detail}. [{self.code}]"


class FileNotKeyfold(_FileError):
    """The file is not a Keyfold database; it was not changed."""

    code = "file-not-keyfold"

    def __str__(self) -> str:
        return (
            f"cannot open {self.path}: {self.detail}. "
            f"The file was not changed; give another path. [{self.code}]"
        )


class FileNewer(_FileError):
    """A newer version of Keyfold wrote the file."""

    code = "file-newer"

    def __str__(self) -> str:
        return f"cannot open {self.path}: {self.detail}. Upgrade Keyfold. [{self.code}]"


class FileDamaged(_FileError):
    """The file is truncated or its content is inconsistent."""

    code = "file-damaged"

    def __str__(self) -> str:
        return (
            f"{self.path} is damaged: {self.detail}. "
            f"Restore a copy; `keyfold verify` lists what is wrong. [{self.code}]"
        )


class FileBusy(_FileError):
    """Another process kept the file locked for longer than the engine waits."""

    code = "file-busy"

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.detail}. Nothing was written; try again, "
            f"or open it with a longer busy_seconds. [{self.code}]"
        )


class FileFailed(_FileError):
    """The disk failed or is full; nothing was written."""

    code = "file-failed"

    def __str__(self) -> str:
        return f"{self.path}: {self.detail}. Nothing was written. [{self.code}]"


class TableUnsettled(KeyfoldError, TimeoutError):
    """A change of a table was started, but did not take effect within the waiting time."""

    code = "table-unsettled"

    def __init__(self, table: str, waited_seconds: float) -> None:
        super().__init__(table, waited_seconds)
        self.table, self.waited_seconds = table, waited_seconds

    def __str__(self) -> str:
        return (
            f"{self.table}: a change is still in progress after {self.waited_seconds:.0f} seconds. "
            f"It continues in the background; apply again later to do the rest. [{self.code}]"
        )
