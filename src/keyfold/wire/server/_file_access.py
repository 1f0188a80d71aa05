"""Who else may access the files of a server: databases behind keys, and the files that grant rights."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from keyfold.errors import KeyfoldError

_LOG = logging.getLogger("keyfold.server")

_PRIVATE_MODE = 0o600
_OTHERS = 0o077
_OTHERS_WRITE = 0o022
_READ_BYTES = 1 << 16

# Makes the error of a file, from a fact and advice.
Refuse = Callable[[str, str], KeyfoldError]


def create_private(path: str) -> bool:
    """Create an empty file that only its owner may access; return whether it is new.

    SQLite gives the files beside a database (`-wal`, `-shm`) the mode of the database. A file that
    exists keeps its mode, and a warning is logged if others may read it. Errors are left to the engine,
    which will meet them again.
    """
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, _PRIVATE_MODE)
    except FileExistsError:
        _warn_of_readers(path)
        return False
    except OSError:
        return False
    try:
        # Whatever the umask is.
        os.fchmod(handle, _PRIVATE_MODE)
    finally:
        os.close(handle)
    return True


def _warn_of_readers(path: str) -> None:
    with suppress(OSError):
        mode = stat.S_IMODE(Path(path).stat().st_mode)
        if mode & _OTHERS:
            _LOG.warning(
                "%s: users other than its owner may access it (mode %04o), without a key. "
                "Run `chmod 600 %s*`.",
                *(path, mode, path),
            )


def read_trusted(path: str, refuse: Refuse) -> bytes:
    """Return the content of a file that grants rights; raise `refuse(…)` if others may write it."""
    try:
        # Non-blocking, since it may be a pipe.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            # Of the open file: the path may already name another one.
            _check_writers(path, os.fstat(handle), refuse)
            return b"".join(iter(lambda: os.read(handle, _READ_BYTES), b""))
        finally:
            os.close(handle)
    except OSError as error:
        raise refuse(f"it cannot be read: {error.strerror or error}", "") from None


def _check_writers(path: str, status: os.stat_result, refuse: Refuse) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise refuse("it is not a file", "Name a file.")
    if status.st_uid not in {os.geteuid(), 0}:
        fact = f"it belongs to user {status.st_uid}, who may change it; this is user {os.geteuid()}"
        raise refuse(fact, f"Run `chown {os.geteuid()} {path}`.")
    if status.st_mode & _OTHERS_WRITE:
        mode = stat.S_IMODE(status.st_mode)
        fact = f"users other than its owner may change it (mode {mode:04o})"
        raise refuse(fact, f"Run `chmod go-w {path}`.")
    check_folder(path, refuse)


def check_folder(path: str, refuse: Refuse) -> None:
    """Raise `refuse(…)` if everybody may replace a file, because everybody may write its folder.

    A folder of a group is accepted: where each user has a group, their folders are writable by it.
    """
    folder = Path(path).resolve().parent
    mode = folder.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        fact = f"everybody may replace it: its folder has mode {stat.S_IMODE(mode):04o}"
        raise refuse(fact, f"Run `chmod o-w {folder}`.")
