"""Errors of an engine: its file, its server and its options."""

from __future__ import annotations

from keyfold.errors._base import TemplatedError


class OptionInvalid(TemplatedError, ValueError):
    """An option, such as one of `Engine.open`, has an invalid value."""

    code = "option-invalid"
    message_template = "{option}: got {received!r}. {advice}"
    option: str
    received: object
    advice: str


class InsightsOff(TemplatedError, LookupError):
    """The hottest keys were requested, but contributor insights are disabled."""

    code = "insights-off"
    message_template = (
        "{owner}: its keys are not counted. Enable its contributor insights first: "
        'execute("UpdateContributorInsights", …).'
    )
    table: str
    index: str | None

    def _words(self) -> dict[str, str]:
        return {"owner": f"table {self.table}" if self.index is None else f"index {self.index}"}


class AddressUnavailable(TemplatedError, OSError):
    """A server cannot listen on the given address."""

    code = "address-unavailable"
    message_template = (
        "cannot listen on {host}, port {port}: {detail}. Give another port, or port 0 for any "
        "free one."
    )
    host: str
    port: int
    detail: str


class KeysUnusable(TemplatedError, ValueError):
    """A file of access keys is invalid; its content is never shown."""

    code = "keys-unusable"
    message_template = "{path}: {fact}. {advice}"
    path: str
    fact: str
    advice: str


class WorkerFailed(TemplatedError, RuntimeError):
    """One of a server's worker processes exited as soon as it was started."""

    code = "worker-failed"
    message_template = (
        "worker {number} exited right after its start, with status {status}. Its output says why."
    )
    number: int
    status: int


class EngineClosed(TemplatedError, ValueError):
    """An engine was used after it was closed."""

    code = "engine-closed"
    message_template = "engine on {path}: it is closed. Open another."
    path: str


class EngineForked(TemplatedError, RuntimeError):
    """A file that was open at a fork was used, or opened again, in the child process."""

    code = "engine-forked"
    message_template = (
        "engine on {path}: the file was open when this process forked. Open it after the fork, "
        "or start the process with multiprocessing's spawn."
    )
    path: str


class _FileError(TemplatedError, OSError):
    """Base of errors about the database file at `path`."""

    path: str
    detail: str


class FileUnreachable(_FileError):
    """The file cannot be opened: a missing folder, no permission, a read-only disk."""

    code = "file-unreachable"
    message_template = "cannot open {path}: {detail}."


class FileNotKeyfold(_FileError):
    """The file is not a Keyfold database; it was not changed."""

    code = "file-not-keyfold"
    message_template = "cannot open {path}: {detail}. The file was not changed; give another path."


class FileNewer(_FileError):
    """A newer version of Keyfold wrote the file."""

    code = "file-newer"
    message_template = "cannot open {path}: {detail}. Upgrade Keyfold."


class FileOlder(_FileError):
    """An earlier version of Keyfold wrote the file, in a format that is no longer read."""

    code = "file-older"
    message_template = (
        "cannot open {path}: {detail}. The file was not changed. Write its tables to files with the "
        "version that wrote it (`keyfold dump`), and load those (`keyfold load`)."
    )


class FileDamaged(_FileError):
    """The file is truncated or its content is inconsistent."""

    code = "file-damaged"
    message_template = (
        "{path} is damaged: {detail}. Restore a copy; `keyfold verify` lists what is wrong."
    )


class FileBusy(_FileError):
    """Another process kept the file locked for longer than the engine waits."""

    code = "file-busy"
    message_template = (
        "{path}: {detail}. Nothing was written; try again, or open it with a longer busy_seconds."
    )
    public_template = "The service is not available. Try again later."


class FileFailed(_FileError):
    """The disk failed or is full; nothing was written."""

    code = "file-failed"
    message_template = "{path}: {detail}. Nothing was written."


class FileReplaced(_FileError):
    """The file, or one beside it, was deleted, replaced or truncated while it was open.

    Everything fails from then on, until the file is opened again.
    """

    code = "file-replaced"
    message_template = (
        "{path}: {detail} while it was open. Nothing was written. Put the right file in place, "
        "then open it again; a server must be restarted."
    )
    public_template = "The service is not available. Try again later."


class LogMismatch(_FileError):
    """The file and its write-ahead log belong to different copies of a database."""

    code = "log-mismatch"
    message_template = (
        "cannot open {path}: {path}-wal is the log of another copy of this file, and would mix its "
        "rows into this one. {detail}"
    )


class FileInUse(_FileError):
    """A file that is to be replaced is open in a process."""

    code = "file-in-use"
    message_template = "cannot replace {path}: {detail}."


class BackupFailed(_FileError):
    """A copy of a file was made, but checking it found problems; the copy was removed."""

    code = "backup-failed"
    message_template = "{path}: the copy was removed, since it is damaged: {detail}."


class TableUnsettled(TemplatedError, TimeoutError):
    """A change of a table was started, but did not take effect within the waiting time."""

    code = "table-unsettled"
    message_template = (
        "{table}: a change is still in progress after {waited_seconds:.0f} seconds. It "
        "continues in the background; apply again later to do the rest."
    )
    table: str
    waited_seconds: float
