"""Errors of the server itself: what its operator reads, and what clients are told.

The messages of such errors name files, and tracebacks have values. So clients get a reference, by which
the operator finds the rest.
"""

from __future__ import annotations

import secrets
import sys
import traceback

from keyfold.errors import FileBusy, FileReplaced, KeyfoldError, KeysUnusable, ServiceError
from keyfold.terminals import escape_controls
from keyfold.wire.server._answers import (
    AMZ_JSON,
    Answer,
    answer_error,
    answer_failure,
    answer_unavailable,
)
from keyfold.wire.server._memory import MemoryFull

_REFERENCE_BYTES = 6


def answer_exception(operation: str, error: Exception, content_type: bytes = AMZ_JSON) -> Answer:
    """Return the answer to a call that raised an error; report it if it is the server's own."""
    if isinstance(error, ServiceError):
        return answer_error(error, content_type)
    if isinstance(error, FileBusy):
        return answer_unavailable("the database file is locked by another process")
    if isinstance(error, MemoryFull):
        return answer_unavailable("Too many answers are waiting to be read")
    if isinstance(error, FileReplaced):
        return answer_unavailable("the database file was replaced; the server must be restarted")
    if isinstance(error, KeysUnusable):
        # The keyring logs it: once, not for each request.
        return answer_unavailable("the server cannot read its access keys")
    reference = secrets.token_hex(_REFERENCE_BYTES)
    report_failure(operation, error, reference)
    message = error.public if isinstance(error, KeyfoldError) else "Internal server error"
    return answer_failure(f"{message.removesuffix('.')} (reference {reference})")


def forget_frames(error: BaseException | None) -> None:
    """Remove the tracebacks of an error that was answered.

    Their frames refer to the request, and some of them to the error, which would keep all of it alive.
    """
    while error is not None:
        error.__traceback__ = None
        error = error.__context__


def report_failure(operation: str, error: Exception, reference: str) -> None:
    """Write an error to stderr, for the server's operator; an unexpected one with its traceback."""
    if isinstance(error, KeyfoldError):
        text = f"keyfold: {operation} failed (reference {reference}): {error}\n"
    else:
        heading = f"keyfold: {operation} failed unexpectedly (reference {reference})\n"
        text = heading + "".join(traceback.format_exception(error))
    sys.stderr.write(escape_controls(text))
