"""The keys of a running server, kept up to date with the file of access keys and its policies.

A file that becomes unusable puts its keys in doubt: somebody may just have revoked one of them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from keyfold.clocks import Clock
from keyfold.errors import KeyfoldError, KeysUnusable
from keyfold.wire.server._key_file import AccessKey, read_keys
from keyfold.wire.server._watched_files import WatchedFile, find_file_state, watch_file

_LOG = logging.getLogger("keyfold.server")

# How long keys that were in use are accepted after their file has become unusable.
GRACE_SECONDS = 30.0
_RETRY_SECONDS = 1.0
_REMINDER_SECONDS = 60.0

_DURING_GRACE = f"Keys that were in use are accepted for {GRACE_SECONDS:.0f} seconds, no others."
_AFTER_GRACE = "Its keys are refused until it is usable."

# What requests with a key are decided by: an authorizer of the DynamoDB server, for example.
P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Entry(Generic[P]):
    """An enabled key, what was prepared for requests with it, and the files of both."""

    key: AccessKey
    prepared: P
    files: tuple[WatchedFile, ...]


@dataclass(slots=True)
class _FileFault:
    """Why a file is unusable, since when, and what was last logged about it, and when."""

    since: float
    error: KeyfoldError
    logged: str | None = None
    logged_at: float = 0.0

    def report(self, now: float) -> None:
        """Log what is wrong: at first, after the grace, and every minute; a new error at once."""
        is_over = now - self.since >= GRACE_SECONDS
        text = f"{self.error} {_AFTER_GRACE if is_over else _DURING_GRACE}"
        pause = _REMINDER_SECONDS if text == self.logged else _RETRY_SECONDS
        if self.logged is None or now - self.logged_at >= pause:
            _LOG.log(logging.CRITICAL if is_over else logging.ERROR, "%s", text)
            self.logged, self.logged_at = text, now


# Prepares what requests with a key are decided by, given the path of its policy. Raises KeyfoldError.
Prepare = Callable[[AccessKey, str | None], P]


class Keyring(Generic[P]):
    """The current keys of a file, reloaded when it changes.

    If the file becomes unusable, or the policy of some keys, then these keys are in doubt: they are
    found for `GRACE_SECONDS` if `note_use` was called for them, and not at all otherwise. Errors are
    logged. As soon as the file is usable again, the keys in it are found.
    """

    def __init__(
        self,
        path: str,
        prepare: Prepare[P],
        *,
        monotonic: Clock = time.monotonic,
        clock: Clock = time.time,
    ) -> None:
        self._path = path
        self._prepare = prepare
        self._monotonic, self._clock = monotonic, clock
        # Of everything but `find`, which threads may call at any time.
        self._lock = Lock()
        self._entries: dict[str, Entry[P]] = {}
        # The keys of unusable files.
        self._doubted: dict[str, Entry[P]] = {}
        self._used: set[str] = set()
        self._faults: dict[str, _FileFault] = {}
        self._retry_at = 0.0
        # The keys whose files have been checked since `end_sharing`.
        self._checked: set[str] = set()
        self._files = {path: watch_file(path, clock())}
        self._load(self._files, is_first=True)

    def find(self, access_key: str, *, is_shared: bool = False) -> Entry[P] | None:
        """Return the entry of an access key; None if it is unknown, disabled, revoked or in doubt.

        It checks whether the files of the key have changed, so that every process refuses a revoked
        key from its next request on. With `is_shared`, one check serves for all calls until
        `end_sharing`.
        """
        entry = self._entries.get(access_key)
        if entry is None:
            return self._find_after_check(access_key)
        if is_shared:
            if access_key in self._checked:
                return entry
            self._checked.add(access_key)
        for file in entry.files:
            if find_file_state(file.path) != file.state:
                return self._find_after_check(access_key)
        return entry

    def end_sharing(self) -> None:
        """Let the next call of `find` check the files again."""
        self._checked.clear()

    def note_use(self, access_key: str) -> None:
        """Note that a request was signed with a key.

        Once is enough for as long as the key is in the file.
        """
        with self._lock:
            if access_key in self._entries:
                self._used.add(access_key)

    def find_fault(self, access_key: str) -> KeysUnusable | None:
        """Return an error if a key is in doubt, or may be one of an unusable file; None if not."""
        with self._lock:
            entry = self._doubted.get(access_key)
            paths = [self._path] if entry is None else [file.path for file in entry.files]
            for path in paths:
                if path in self._faults:
                    # A new one for each request: an error that is raised keeps what raised it.
                    return KeysUnusable(path, "it has become unusable", "The log says why.")
        return None

    def check(self) -> None:
        """Reload files that have changed, and log what is wrong with them.

        A server calls it once a second, so that a fault is noticed without a request.
        """
        with self._lock:
            self._check(self._monotonic())

    def _find_after_check(self, access_key: str) -> Entry[P] | None:
        with self._lock:
            now = self._monotonic()
            self._check(now)
            entry = self._entries.get(access_key)
            doubted = self._doubted.get(access_key)
            if entry is not None or doubted is None or access_key not in self._used:
                return entry
            faults = self._faults
            since = min(faults[file.path].since for file in doubted.files if file.path in faults)
            return doubted if now - since < GRACE_SECONDS else None

    def _check(self, now: float) -> None:
        # A file may also become readable without a change, once there are file descriptors.
        is_due = bool(self._faults) and now >= self._retry_at
        if is_due or any(find_file_state(path) != file.state for path, file in self._files.items()):
            self._retry_at = now + _RETRY_SECONDS
            self._reload(now)
        for fault in self._faults.values():
            fault.report(now)

    def _reload(self, now: float) -> None:
        before = self._files
        files = {path: watch_file(path, self._clock()) for path in before}
        if all(files[path].fingerprint == before[path].fingerprint for path in files):
            for path, file in files.items():
                before[path].state = file.state
            return
        try:
            errors = self._load(files, is_first=False)
        except KeysUnusable as error:
            self._files = files
            self._doubted, self._entries = {**self._doubted, **self._entries}, {}
            errors = {path: fault.error for path, fault in self._faults.items()}
            errors[self._path] = error
        for path in self._faults.keys() - errors.keys():
            _LOG.warning("%s: it is usable again.", path)
        self._faults = {
            path: self._faults.get(path) or _FileFault(now, error) for path, error in errors.items()
        }
        for path, error in errors.items():
            self._faults[path].error = error

    def _load(self, files: Mapping[str, WatchedFile], *, is_first: bool) -> dict[str, KeyfoldError]:
        """Read the keys; return the errors of policies, by path.

        Raises KeysUnusable if the file is unusable. At first, any error is raised.
        """
        keys = read_keys(self._path)
        before = {**self._doubted, **self._entries}
        used = {self._path: files[self._path]}
        entries: dict[str, Entry[P]] = {}
        doubted: dict[str, Entry[P]] = {}
        errors: dict[str, KeyfoldError] = {}
        for access_key, key in keys.items():
            if key.is_disabled:
                continue
            policy, its_files = None, (files[self._path],)
            if key.policy is not None:
                policy = str(Path(self._path).parent / key.policy)
                if policy not in used:
                    used[policy] = files.get(policy) or watch_file(policy, self._clock())
                its_files = (files[self._path], used[policy])
            try:
                entries[access_key] = Entry(key, self._prepare(key, policy), its_files)
            except KeyfoldError as error:
                if is_first:
                    raise
                if policy is None:
                    _LOG.error("%s Until then, requests with this key are refused.", error)
                    continue
                errors[policy] = error
                if access_key in before and before[access_key].key == key:
                    doubted[access_key] = before[access_key]
        self._entries, self._doubted, self._files = entries, doubted, used
        self._used &= entries.keys() | doubted.keys()
        return errors
