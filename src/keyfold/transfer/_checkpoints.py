"""How far a job has come, in one small file that is replaced after each batch.

The file always tells of one moment: where each segment goes on, how long each part of what
was written is, and what was counted so far all belong together.
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
    """What a checkpoint tells."""

    started_at: float
    phase: Phase = "moving"
    # Where each segment goes on; those in `done` have nothing left.
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
        """Return it as JSON has it."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**told, "tallies": self.tallies.to_json()}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> State:
        """Return what `to_json` told."""
        values: dict[str, Any] = {**told, "tallies": Tallies.from_json(told["tallies"])}
        return cls(**values)


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """What became of one batch."""

    items: int
    size_bytes: int
    tallies: Tallies = field(default_factory=Tallies)
    lengths: Mapping[str, int] = field(default_factory=dict[str, int])
    rejects: Sequence[Reject] = ()
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


class Checkpoint:
    """The state of one job; threads may record into it side by side.

    Without a path nothing is kept, and a job that is killed starts anew.
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
            _cut(rejects, self.state.rejects_length)

    def record(self, segment: str, position: Any, outcome: BatchOutcome, *, is_last: bool) -> None:
        """Keep that a batch is done, and all that came of it."""
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
            # Here and nowhere else: another thread's batch must not be vouched for by this one.
            self._append_rejects(outcome.rejects)
            self._save()

    def enter(self, phase: Phase) -> None:
        """Keep that a phase has begun."""
        with self._lock:
            self.state.phase = phase
            self._save()

    def remove(self) -> None:
        """Forget the job, which is done."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _append_rejects(self, rejects: Sequence[Reject]) -> None:
        if not rejects:
            return
        state = self.state
        state.rejects += len(rejects)
        if self.rejects_path is None:
            return
        with told_as_failed(self.rejects_path), self.rejects_path.open("ab") as file:
            file.write(b"".join(map(_to_line, rejects)))
            flush(file.fileno(), file.flush)
            state.rejects_length = file.tell()

    def _save(self) -> None:
        if self.path is None:
            return
        told = {"format": _FORMAT, "job": self._job, **self.state.to_json()}
        temporary = self.path.with_name(self.path.name + ".new")
        with told_as_failed(self.path):
            with temporary.open("wb") as file:
                file.write(orjson.dumps(told))
                flush(file.fileno(), file.flush)
            temporary.replace(self.path)


def _to_line(reject: Reject) -> bytes:
    told: dict[str, Any] = {"reason": reject.reason}
    if reject.item is None:
        told["line"] = reject.line
    else:
        told["Item"] = reject.item
    return orjson.dumps(told) + b"\n"


@contextmanager
def told_as_failed(path: Path) -> Generator[None]:
    """Turn what the disk has to say into FileFailed."""
    try:
        yield
    except OSError as error:
        raise FileFailed(str(path), error.strerror or str(error)) from error


def flush(descriptor: int, flush_buffer: Any = None) -> None:
    """Let what was written to a file survive a loss of power."""
    if flush_buffer is not None:
        flush_buffer()
    os.fsync(descriptor)


def _cut(path: Path, length: int) -> None:
    """Take back what is not vouched for, and the file if nothing is."""
    if length:
        os.truncate(path, length)
    else:
        path.unlink()


def _read(path: Path, job: Mapping[str, Any]) -> State:
    try:
        told: dict[str, Any] = orjson.loads(path.read_bytes())
        is_ours = told.pop("format", None) == _FORMAT
        other: dict[str, Any] = told.pop("job", {})
    except (AttributeError, OSError, TypeError, ValueError):
        raise CheckpointUnusable(str(path), "it cannot be read") from None
    if not is_ours:
        raise CheckpointUnusable(str(path), "this version of Keyfold did not write it")
    differing = [name for name in {**job, **other} if job.get(name) != other.get(name)]
    if differing:
        told_apart = ", ".join(
            f"its {name.replace('_', ' ')} is {other.get(name)!r}, not {job.get(name)!r}"
            for name in differing
        )
        raise CheckpointUnusable(str(path), f"it is of another job: {told_apart}")
    return State.from_json(told)


@contextmanager
def locked(path: Path | None) -> Generator[None]:
    """Keep other processes from doing the same job at once; raises CheckpointUnusable."""
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
            raise CheckpointUnusable(str(path), "another process is at this job") from None
        # Whoever held it before may have removed the file in between.
        if name.exists() and os.path.samestat(os.fstat(descriptor), name.stat()):
            break
        os.close(descriptor)
    try:
        yield
    finally:
        name.unlink(missing_ok=True)
        os.close(descriptor)
