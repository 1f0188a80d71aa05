"""What `make mutants` mutates: modules whose faults cost data or let somebody in, and their tests."""

from __future__ import annotations

from typing import NamedTuple


class MutantGroup(NamedTuple):
    """Modules, below `src/keyfold`, and the tests that have to notice each change of them.

    The tests run in this order, up to the first that fails: those that start programs come last.
    """

    modules: tuple[str, ...]
    tests: tuple[str, ...]


_SERVER = "tests/unit/wire/server"


def _in_storage(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/unit/engine/storage/test_{name}.py" for name in names)


GROUPS = {
    "guard": MutantGroup(
        ("policy/_guard.py", "policy/_guard_unions.py", "policy/_own_items.py"),
        ("tests/unit/policy", f"{_SERVER}/test_lookups.py"),
    ),
    "signatures": MutantGroup(
        (
            "wire/_sigv4.py",
            "wire/client/_signing.py",
            "wire/server/_fast_signatures.py",
            "wire/server/_signatures.py",
        ),
        (
            "tests/unit/wire/test_sigv4.py",
            "tests/unit/wire/client/test_signing.py",
            f"{_SERVER}/test_dates.py",
            f"{_SERVER}/test_fast_signatures.py",
            f"{_SERVER}/test_signatures.py",
            f"{_SERVER}/test_verifier.py",
        ),
    ),
    "cursors": MutantGroup(
        ("store/_cursors.py",),
        ("tests/unit/store/test_cursors.py",),
    ),
    "storage-rows": MutantGroup(
        ("engine/storage/view.py", "engine/storage/statements.py"),
        _in_storage("views", "protocol", "conditional_puts", "walks"),
    ),
    "storage-commits": MutantGroup(
        tuple(
            f"engine/storage/{name}.py" for name in ("sqlite", "snapshots", "readers", "background")
        ),
        (
            *_in_storage("protocol", "busy_reads", "held_views", "shared_commits", "disowned"),
            *_in_storage("readers", "checked_puts", "watched_storages", "threads", "group_commit"),
            "tests/unit/engine/test_interrupts.py",
            "tests/hostile/test_files.py",
            *_in_storage("checkpoints", "snapshots"),
        ),
    ),
    "storage-files": MutantGroup(
        tuple(
            f"engine/storage/{name}.py"
            for name in ("checkpoints", "epochs", "file_watch", "log_statements")
        ),
        (
            *_in_storage("epochs", "file_watch", "watched_storages", "checkpoints", "protocol"),
            "tests/unit/engine/test_changes.py",
            "tests/hostile/test_files.py",
            "tests/crash/test_epochs.py",
        ),
    ),
    "storage-opening": MutantGroup(
        ("engine/storage/connections.py", "engine/storage/forks.py"),
        (
            *_in_storage("connections", "file_checks", "disowned", "opening", "protocol"),
            *_in_storage("versions", "busy_reads", "snapshots", "locks", "forks"),
            "tests/crash/test_epochs.py",
        ),
    ),
    "keys": MutantGroup(
        (
            "wire/server/_key_file.py",
            "wire/server/_keyring.py",
            "wire/server/_watched_files.py",
        ),
        (
            f"{_SERVER}/test_key_file.py",
            f"{_SERVER}/test_keyring.py",
        ),
    ),
}
