"""Errors of copies, dumps and loads, and of their checkpoints."""

from __future__ import annotations

from keyfold.errors._base import KeyfoldError


class TableMissing(KeyfoldError, LookupError):
    """A database lacks the requested table, or it is not clear which table is meant."""

    code = "table-missing"

    def __init__(self, url: str, fact: str, advice: str) -> None:
        super().__init__(url, fact, advice)
        self.url, self.fact, self.advice = url, fact, advice

    def __str__(self) -> str:
        return f"{self.url}: {self.fact}. {self.advice} [{self.code}]"


class TargetNotEmpty(KeyfoldError):
    """The target table of a copy or a load already holds items."""

    code = "target-not-empty"

    def __init__(self, url: str, table: str) -> None:
        super().__init__(url, table)
        self.url, self.table = url, table

    def __str__(self) -> str:
        return (
            f"table {self.table!r} of {self.url}: it already holds items. "
            f"Name an empty table, or merge into this one with --merge. [{self.code}]"
        )


class FileTaken(KeyfoldError, FileExistsError):
    """The file or folder to write already exists."""

    code = "file-taken"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: it already exists. Move it, or name another path. [{self.code}]"


class SourceUnreadable(KeyfoldError, ValueError):
    """A file or folder is not in a format that data can be loaded from."""

    code = "source-unreadable"

    def __init__(self, path: str, fact: str, advice: str = "") -> None:
        super().__init__(path, fact, advice)
        self.path, self.fact, self.advice = path, fact, advice

    def __str__(self) -> str:
        advice = f" {self.advice}" if self.advice else ""
        return f"{self.path}: {self.fact}.{advice} [{self.code}]"


class CheckpointUnusable(KeyfoldError, ValueError):
    """A checkpoint belongs to another job, or the file is not a checkpoint."""

    code = "checkpoint-unusable"

    def __init__(self, path: str, fact: str) -> None:
        super().__init__(path, fact)
        self.path, self.fact = path, fact

    def __str__(self) -> str:
        return (
            f"checkpoint {self.path}: {self.fact}. Finish that job with its own command, name "
            f"another file with --checkpoint, or remove this one to start again. [{self.code}]"
        )
