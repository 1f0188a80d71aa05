"""Files whose changes are noticed without reading them."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from hashlib import sha256

_READ_BYTES = 1 << 16
_NANOSECONDS = 1_000_000_000
# The times of a file have steps: milliseconds, or a second on some file systems. A file may change
# twice within one step, and the second change leaves no trace in its metadata.
_SETTLING_SECONDS = 2.0

# Metadata of a file that shows whether it has changed: device, inode, size and the time of the last
# change, which is also set when its mode, its owner or its name changes. Unlike the time of the last
# modification, no program can set it back.
FileState = tuple[int, int, int, int]

# The state of a file that has just changed: no file has it, so that the next check reads the file.
_UNSETTLED: FileState = (-1, -1, -1, -1)

# Mode, owner and hash of a file.
_Fingerprint = tuple[int, int, bytes]


@dataclass(slots=True)
class WatchedFile:
    """A file as it was when it was last read; its state and fingerprint are None if it was not."""

    path: str
    state: FileState | None
    fingerprint: _Fingerprint | None


def find_file_state(path: str) -> FileState | None:
    """Return the current state of a file; None if it has none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - faster, and done for each request
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns


def watch_file(path: str, now: float) -> WatchedFile:
    """Return a file as it is; `now` is the time, in seconds since 1970."""
    # Before reading: a change in between causes another read.
    state = find_file_state(path)
    if state is not None and abs(now - state[3] / _NANOSECONDS) < _SETTLING_SECONDS:
        state = _UNSETTLED
    return WatchedFile(path, state, _take_fingerprint(path))


def _take_fingerprint(path: str) -> _Fingerprint | None:
    try:
        # Non-blocking, since it may be a pipe.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return None
        content = sha256()
        for part in iter(lambda: os.read(handle, _READ_BYTES), b""):
            content.update(part)
    except OSError:
        return None
    finally:
        os.close(handle)
    return status.st_mode, status.st_uid, content.digest()
