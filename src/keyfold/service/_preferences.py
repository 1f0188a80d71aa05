"""What the headers of a request ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from keyfold.service._problems import refuse

_PAGE_SIZE = re.compile(r"(?:^|[,;\s])maxpagesize=\"?([0-9]{1,9})\"?(?:$|[,;\s])")


def read_preferred_items(headers: Mapping[str, str]) -> int | None:
    """Return how many items a client prefers in a page: `Prefer: maxpagesize=20`; None if it says nothing.

    >>> read_preferred_items({"prefer": "respond-async, maxpagesize=20"})
    20
    """
    preferred = headers.get("prefer")
    if preferred is None:
        return None
    found = _PAGE_SIZE.search(preferred)
    return max(1, int(found[1])) if found else None


def check_json(headers: Mapping[str, str], body: bytes) -> None:
    """Raise a problem with status 415 for a body that does not say it is JSON.

    Forms that web pages can send to other sites without being asked cannot say so.
    """
    if not body:
        return
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise refuse(415, "media-type-unknown", "Send JSON, with Content-Type: application/json.")
