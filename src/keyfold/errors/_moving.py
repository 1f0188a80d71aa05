"""Errors of copies, dumps and loads, and of their checkpoints."""

from __future__ import annotations

from keyfold.errors._base import TemplatedError


class TableMissing(TemplatedError, LookupError):
    """A database lacks the requested table, or it is not clear which table is meant."""

    code = "table-missing"
    message_template = "{url}: {fact}. {advice}"
    url: str
    fact: str
    advice: str


class TargetNotEmpty(TemplatedError):
    """The target table of a copy or a load already holds items."""

    code = "target-not-empty"
    message_template = (
        "table {table!r} of {url}: it already holds items. Name an empty table, or merge into "
        "this one with --merge."
    )
    url: str
    table: str


class FileTaken(TemplatedError, FileExistsError):
    """The file or folder to write already exists."""

    code = "file-taken"
    message_template = "{path}: it already exists. Move it, or name another path."
    path: str


class SourceUnreadable(TemplatedError, ValueError):
    """A file or folder is not in a format that data can be loaded from."""

    code = "source-unreadable"
    message_template = "{path}: {fact}. {advice}"
    path: str
    fact: str
    advice: str = ""


class CheckpointUnusable(TemplatedError, ValueError):
    """A checkpoint belongs to another job, or the file is not a checkpoint."""

    code = "checkpoint-unusable"
    message_template = (
        "checkpoint {path}: {fact}. Finish that job with its own command, name another file "
        "with --checkpoint, or remove this one to start again."
    )
    path: str
    fact: str
