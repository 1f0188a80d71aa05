"""What code is written for: a table of a database, and who runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from keyfold.model import Table
from keyfold.studio._actions import StudioCall
from keyfold.studio._workspace import StudioPrincipal

_AWS = "dynamodb://"
_MEMBERS = ("Put", "Update", "Delete", "ConditionCheck", "Get")


@dataclass(frozen=True, slots=True)
class CodeTarget:
    """A table of a database, whose URL has no credentials; empty for a database in memory."""

    table: Table
    url: str
    principal: StudioPrincipal | None

    @property
    def region(self) -> str | None:
        """The region of AWS; None for another database."""
        return self.url.removeprefix(_AWS).partition("/")[0] if self.url.startswith(_AWS) else None

    @property
    def endpoint(self) -> str | None:
        """The URL of a service that is not AWS."""
        return self.url if self.url.startswith(("http://", "https://")) else None

    @property
    def prefix(self) -> str:
        """What the names of tables begin with in the database: a URL of AWS may say so."""
        return self.url.removeprefix(_AWS).partition("/")[2] if self.region else ""

    @property
    def table_name(self) -> str:
        """The name of the table in the database."""
        return f"{self.prefix}{self.table.name}"

    def rename(self, body: Any) -> Any:
        """Return the body of a call with the names that tables have in the database."""
        if not self.prefix:
            return body
        match body:
            case dict():
                members = cast("dict[str, Any]", body)
                return {name: self._rename_member(name, each) for name, each in members.items()}
            case list():
                return [self.rename(each) for each in cast("list[Any]", body)]
            case _:
                return body

    def _rename_member(self, name: str, value: Any) -> Any:
        if name == "TableName":
            return f"{self.prefix}{value}"
        if name == "RequestItems":
            return {f"{self.prefix}{each}": held for each, held in value.items()}
        return self.rename(value) if name in ("TransactItems", *_MEMBERS) else value


def find_target(call: StudioCall) -> CodeTarget:
    """Return what the code of a call is written for."""
    return CodeTarget(call.table, strip_credentials(call.workspace.url), call.principal)


def strip_credentials(url: str) -> str:
    """Return a URL without a user and a password.

    >>> strip_credentials("http://key:secret@localhost:8000"), strip_credentials("shop.db")
    ('http://localhost:8000', 'shop.db')
    """
    if "://" not in url:
        return url
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
