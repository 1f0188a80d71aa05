"""Projections: which parts of each item a read returns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from keyfold.expressions.faults import ExpressionFault
from keyfold.expressions.parser import CACHED_EXPRESSIONS, parse_projection
from keyfold.expressions.paths import Projection, merge_paths
from keyfold.expressions.placeholders import NO_PLACEHOLDERS, Placeholders
from keyfold.expressions.trees import Path, Steps


def bind_projection(text: str, placeholders: Placeholders) -> Projection:
    """Parse a ProjectionExpression and bind it to the request's names.

    >>> projection = bind_projection("a.b[1], c", Placeholders(None, None))
    >>> projection.apply({"c": {"N": "1"}, "d": {"N": "2"}})
    {'c': {'N': '1'}}

    Raises ValidationException.
    """
    try:
        if any(path.has_placeholders for path in parse_projection(text)):
            return Projection.of(resolve_disjoint(parse_projection(text), placeholders))
        return _bind_constant(text)
    except ExpressionFault as fault:
        raise fault.to_service_error("ProjectionExpression") from None


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def _bind_constant(text: str) -> Projection:
    """Bind a projection without placeholders, which is the same for every request."""
    return Projection.of(resolve_disjoint(parse_projection(text), NO_PLACEHOLDERS))


def resolve_disjoint(paths: tuple[Path, ...], placeholders: Placeholders) -> tuple[Steps, ...]:
    """Resolve paths that must not clash; raises ExpressionFault."""
    # Resolving and merging path by path reports the last fault in the text, as the service does.
    resolved: list[Steps] = []

    def last_to_first() -> Iterator[Steps]:
        for path in reversed(paths):
            steps = placeholders.resolve(path)
            resolved.append(steps)
            yield steps

    merge_paths(last_to_first())
    return tuple(reversed(resolved))
