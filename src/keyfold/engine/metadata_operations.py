"""Operations that only keep and describe metadata, such as tags, policies and global tables.

Such an operation is declared by data: how its subject is found, what changes it, and what saves it.
A subject is whatever was found: a table's body, a record of another kind, or both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from keyfold.api.shapes import known_part, table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.storage import StorageReader, StorageWriter
from keyfold.engine.tables.catalog import require_body
from keyfold.engine.tables.table import TableBody

Subject = TypeVar("Subject")
Response = dict[str, Any]


class MetadataCall(NamedTuple):
    """A call of an operation on metadata, as the functions that declare the operation get it."""

    context: EngineContext
    request: dict[str, Any]


@dataclass(frozen=True, slots=True)
class MetadataRead(Generic[Subject]):
    """An operation that finds its subject and describes it."""

    find: Callable[[StorageReader, MetadataCall], Subject]
    describe: Callable[[Subject, MetadataCall], Response]

    def __call__(self, context: EngineContext, request: dict[str, Any]) -> Response:
        """Run the operation."""
        call = MetadataCall(context, request)
        return self.describe(context.storage.read(lambda reader: self.find(reader, call)), call)


@dataclass(frozen=True, slots=True)
class MetadataWrite(Generic[Subject]):
    """An operation that finds its subject, changes it and saves it, in one transaction."""

    # The operation's name, by which the known members of a request are found.
    name: str
    _: KW_ONLY
    # Raises an error for a request that is invalid whatever is stored.
    check: Callable[[dict[str, Any]], None] | None = None
    find: Callable[[StorageReader, MetadataCall], Subject]
    # Changes the subject, and returns the response.
    change: Callable[[Subject, MetadataCall], Response]
    save: Callable[[StorageWriter, Subject], None]
    # Called with the response after the commit, to log what is recorded but not carried out.
    warn: Callable[[Response], None] | None = None

    def __call__(self, context: EngineContext, request: dict[str, Any]) -> Response:
        """Run the operation. Unknown members of the request, and null ones, are never stored."""
        call = MetadataCall(context, known_part(self.name, request))
        if self.check is not None:
            self.check(call.request)

        def work(writer: StorageWriter) -> Response:
            subject = self.find(writer, call)
            response = self.change(subject, call)
            self.save(writer, subject)
            return response

        response = context.storage.write(work)
        if self.warn is not None:
            self.warn(response)
        return response


def find_table(reader: StorageReader, call: MetadataCall) -> TableBody:
    """Return the table that `TableName` names. Raises ResourceNotFoundException."""
    return require_body(reader, table_name(call.request))
