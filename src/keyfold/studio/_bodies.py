"""The JSON that the browser sends with a request, read by name and type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from keyfold.studio._problems import StudioProblem

V = TypeVar("V")


class StudioBody:
    """The members of a request; each getter raises a problem that names the member.

    >>> body = StudioBody({"table": "Market", "limit": 20})
    >>> body.text("table"), body.integer("limit", least=1, most=100), body.optional_text("index")
    ('Market', 20, None)
    """

    __slots__ = ("_members",)

    def __init__(self, members: object) -> None:
        if not isinstance(members, dict):
            raise StudioProblem(400, "request-malformed", "The body has to be a JSON object.")
        self._members = cast("dict[str, Any]", members)

    @property
    def members(self) -> Mapping[str, Any]:
        """All members, as they were received."""
        return self._members

    def __contains__(self, name: str) -> bool:
        return self._members.get(name) is not None

    def text(self, name: str) -> str:
        """Return a text that has to be there."""
        found = self.optional_text(name)
        if found is None:
            raise self._refuse(name, "a text")
        return found

    def optional_text(self, name: str) -> str | None:
        """Return a text, or None."""
        return self._read(name, str, "a text")

    def flag(self, name: str) -> bool:
        """Return a truth value, by default False."""
        return self._read(name, bool, "true or false") or False

    def integer(self, name: str, *, least: int, most: int, default: int | None = None) -> int:
        """Return a whole number within bounds."""
        wanted = f"a whole number from {least} to {most}"
        found = self._members.get(name)
        if found is None and default is not None:
            return default
        if not isinstance(found, int) or isinstance(found, bool) or not least <= found <= most:
            raise self._refuse(name, wanted)
        return found

    def number(self, name: str, *, least: float, most: float, default: float) -> float:
        """Return a number within bounds."""
        found = self._members.get(name)
        if found is None:
            return default
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        if not is_number or not least <= found <= most:
            raise self._refuse(name, f"a number from {least:g} to {most:g}")
        return float(found)

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Return an object, by default an empty one."""
        return cast("dict[str, Any]", self._read(name, dict, "an object")) or {}

    def optional_mapping(self, name: str) -> Mapping[str, Any] | None:
        """Return an object, or None."""
        return cast("dict[str, Any] | None", self._read(name, dict, "an object"))

    def sequence(self, name: str) -> list[Any]:
        """Return an array, by default an empty one."""
        return cast("list[Any]", self._read(name, list, "an array")) or []

    def texts(self, name: str) -> list[str]:
        """Return an array of texts, by default an empty one."""
        found = self.sequence(name)
        if not all(isinstance(each, str) for each in found):
            raise self._refuse(name, "an array of texts")
        return found

    def _read(self, name: str, kind: type[V], wanted: str) -> V | None:
        found = self._members.get(name)
        if found is None or isinstance(found, kind):
            return found
        raise self._refuse(name, wanted)

    def _refuse(self, name: str, wanted: str) -> StudioProblem:
        got = repr(self._members.get(name))[:60]
        message = f"{name} has to be {wanted}; got {got}."
        return StudioProblem(400, "request-malformed", message)
