"""What stands in the way of moving data from one place to another."""

from __future__ import annotations

from keyfold.errors._base import KeyfoldError


class TableMissing(KeyfoldError, LookupError):
    """A database lacks the table that was asked for, or it is not clear which one is meant."""

    code = "table-missing"

    def __init__(self, url: str, fact: str, advice: str) -> None:
        super().__init__(url, fact, advice)
        self.url, self.fact, self.advice = url, fact, advice

    def __str__(self) -> str:
        return f"{self.url}: {self.fact}. {self.advice} [{self.code}]"


class TargetNotEmpty(KeyfoldError):
    """A table that was to be filled holds items already."""

    code = "target-not-empty"

    def __init__(self, url: str, table: str) -> None:
        super().__init__(url, table)
        self.url, self.table = url, table

    def __str__(self) -> str:
        return (
            f"table {self.table!r} of {self.url}: it holds items already. "
            f"Name an empty one, or merge into it with --merge. [{self.code}]"
        )


class FileTaken(KeyfoldError, FileExistsError):
    """A file, or a folder, that was to be written is there already."""

    code = "file-taken"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: it is there already. Move it away, or name another. [{self.code}]"


class SourceUnreadable(KeyfoldError, ValueError):
    """A file, or a folder, is not of a kind that data can be loaded from."""

    code = "source-unreadable"

    def __init__(self, path: str, fact: str, advice: str = "") -> None:
        super().__init__(path, fact, advice)
        self.path, self.fact, self.advice = path, fact, advice

    def __str__(self) -> str:
        advice = f" {self.advice}" if self.advice else ""
        return f"{self.path}: {self.fact}.{advice} [{self.code}]"


class CheckpointUnusable(KeyfoldError, ValueError):
    """A checkpoint is of another job, or is none at all."""

    code = "checkpoint-unusable"

    def __init__(self, path: str, fact: str) -> None:
        super().__init__(path, fact)
        self.path, self.fact = path, fact

    def __str__(self) -> str:
        return (
            f"checkpoint {self.path}: {self.fact}. Finish that job with its own command, name "
            f"another file with --checkpoint, or remove this one to start anew. [{self.code}]"
        )
