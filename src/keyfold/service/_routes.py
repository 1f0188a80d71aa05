"""Finds the endpoint of a path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

from keyfold.service._endpoints import PatternEndpoint

_PLACE = re.compile(r"\\\{(\w+)\\\}")


class Match(NamedTuple):
    """An endpoint, and the arguments in the segments of its path."""

    endpoint: PatternEndpoint
    places: dict[str, str]


class _Template(NamedTuple):
    path: re.Pattern[str]
    endpoint: PatternEndpoint


class Routes:
    """The paths of endpoints; those without arguments are found first."""

    def __init__(self, endpoints: Iterable[PatternEndpoint]) -> None:
        self._exact: dict[str, dict[str, Match]] = {}
        self._templates: list[_Template] = []
        for each in endpoints:
            if "{" in each.path:
                pattern = _PLACE.sub(r"(?P<\1>[^/]+)", re.escape(each.path))
                self._templates.append(_Template(re.compile(pattern), each))
            else:
                self._exact.setdefault(each.path, {})[each.method] = Match(each, {})

    def find(self, path: str, sent: str) -> dict[str, Match]:
        """Return the endpoints of a path, by method.

        `sent` is the path as it was sent: there, a slash within a segment is `%2F`.
        """
        exact = self._exact.get(path)
        if exact is not None:
            return exact
        matches: dict[str, Match] = {}
        for template in self._templates:
            found = template.path.fullmatch(sent)
            if found is not None and template.endpoint.method not in matches:
                places = {name: unquote(text) for name, text in found.groupdict().items()}
                matches[template.endpoint.method] = Match(template.endpoint, places)
        return matches
