"""Checkpoints: the state of a job, in one small file that is replaced after each batch.

The file is always consistent: the position of each segment, the length of each part file and the
counts all describe the same point of the job.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import orjson

from keyfold.errors import CheckpointUnusable, FileFailed, FileTaken, FileUnreachable
from keyfold.transfer._entities import Reject
from keyfold.transfer._tallies import Tallies

_FORMAT = 1
Phase = Literal["moving", "joining", "whole"]


@dataclass(slots=True)
class State:
    """The state of a job that a checkpoint saves."""

    started_at: float
    phase: Phase = "moving"
    # Where each segment resumes; segments in `done` are finished.
    positions: dict[str, Any] = field(default_factory=dict[str, Any])
    done: list[str] = field(default_factory=list[str])
    lengths: dict[str, int] = field(default_factory=dict[str, int])
    tallies: Tallies = field(default_factory=Tallies)
    counts: dict[str, int] = field(default_factory=dict[str, int])
    items: int = 0
    size_bytes: int = 0
    rejects: int = 0
    rejects_length: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the state as a JSON object."""
        document = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**document, "tallies": self.tallies.to_json()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> State:
        """Rebuild what `to_json` returned."""
        values: dict[str, Any] = {**document, "tallies": Tallies.from_json(document["tallies"])}
        return cls(**values)


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """The result of handling one batch, which a checkpoint adds to its state."""

    items: int
    size_bytes: int
    tallies: Tallies = field(default_factory=Tallies)
    lengths: Mapping[str, int] = field(default_factory=dict[str, int])
    rejects: Sequence[Reject] = ()
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


class Checkpoint:
    """The saved state of one job; threads may record batches concurrently.

    Without a path nothing is saved, and a killed job starts over. Raises CheckpointUnusable if
    the file belongs to another job, and FileTaken if a new job finds a rejects file.
    """

    def __init__(
        self,
        path: Path | None,
        job: Mapping[str, Any],
        *,
        rejects: Path | None,
        started_at: float,
    ) -> None:
        self.path, self.rejects_path = path, rejects
        self._job = dict(job)
        self._lock = threading.Lock()
        read = _read(path, self._job) if path is not None and path.exists() else None
        self.is_resumed = read is not None
        self.state = State(started_at) if read is None else read
        if rejects is not None and rejects.exists():
            if read is None:
                raise FileTaken(str(rejects))
            _truncate(rejects, self.state.rejects_length)

    def record(self, segment: str, position: Any, outcome: BatchOutcome, *, is_last: bool) -> None:
        """Save that a batch is done, with its outcome."""
        with self._lock:
            state = self.state
            state.positions[segment] = position
            if is_last:
                state.done.append(segment)
            state.lengths.update(outcome.lengths)
            state.tallies.merge(outcome.tallies)
            state.items += outcome.items
            state.size_bytes += outcome.size_bytes
            for name, count in outcome.counts.items():
                state.counts[name] = state.counts.get(name, 0) + count
            # Only here, under the lock: the saved length of the rejects file must cover no line
            # of a batch that another thread has not recorded yet.
            self._append_rejects(outcome.rejects)
            self._save()

    def enter(self, phase: Phase) -> None:
        """Save that a phase has begun."""
        with self._lock:
            self.state.phase = phase
            self._save()

    def remove(self) -> None:
        """Delete the file; the job is done."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _append_rejects(self, rejects: Sequence[Reject]) -> None:
        if not rejects:
            return
        state = self.state
        state.rejects += len(rejects)
        if self.rejects_path is None:
            return
        with raising_file_failed(self.rejects_path), self.rejects_path.open("ab") as file:
            file.write(b"".join(map(_to_line, rejects)))
            flush(file.fileno(), file.flush)
            state.rejects_length = file.tell()

    def _save(self) -> None:
        if self.path is None:
            return
        document = {"format": _FORMAT, "job": self._job, **self.state.to_json()}
        temporary = self.path.with_name(self.path.name + ".new")
        with raising_file_failed(self.path):
            with temporary.open("wb") as file:
                file.write(orjson.dumps(document))
                flush(file.fileno(), file.flush)
            temporary.replace(self.path)


def _to_line(reject: Reject) -> bytes:
    document: dict[str, Any] = {"reason": reject.reason}
    if reject.item is None:
        document["line"] = reject.line
    else:
        document["Item"] = reject.item
    return orjson.dumps(document) + b"\n"


@contextmanager
def raising_file_failed(path: Path) -> Generator[None]:
    """Raise FileFailed for an OSError in the block."""
    try:
        yield
    except OSError as error:
        raise FileFailed(str(path), error.strerror or str(error)) from error


def flush(descriptor: int, flush_buffer: Any = None) -> None:
    """Flush a file to disk, so that its content survives a power failure."""
    if flush_buffer is not None:
        flush_buffer()
    os.fsync(descriptor)


def _truncate(path: Path, length: int) -> None:
    """Cut a file back to the length that the checkpoint recorded; delete it if that is 0."""
    if length:
        os.truncate(path, length)
    else:
        path.unlink()


def _read(path: Path, job: Mapping[str, Any]) -> State:
    try:
        document: dict[str, Any] = orjson.loads(path.read_bytes())
        is_ours = document.pop("format", None) == _FORMAT
        other: dict[str, Any] = document.pop("job", {})
    except (AttributeError, OSError, TypeError, ValueError):
        raise CheckpointUnusable(str(path), "it cannot be read") from None
    if not is_ours:
        raise CheckpointUnusable(str(path), "it was not written by this version of Keyfold")
    differing = [name for name in {**job, **other} if job.get(name) != other.get(name)]
    if differing:
        differences = ", ".join(
            f"its {name.replace('_', ' ')} is {other.get(name)!r}, not {job.get(name)!r}"
            for name in differing
        )
        raise CheckpointUnusable(str(path), f"it belongs to another job: {differences}")
    return State.from_json(document)


@contextmanager
def locked(path: Path | None) -> Generator[None]:
    """Hold a job's lock file; raises CheckpointUnusable if another process has it."""
    if path is None:
        yield
        return
    name = path.with_name(path.name + ".lock")
    while True:
        try:
            descriptor = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise FileUnreachable(str(path), error.strerror or str(error)) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise CheckpointUnusable(str(path), "another process is running this job") from None
        # The process that had the lock before may have deleted the file since it was opened.
        if name.exists() and os.path.samestat(os.fstat(descriptor), name.stat()):
            break
        os.close(descriptor)
    try:
        yield
    finally:
        name.unlink(missing_ok=True)
        os.close(descriptor)
