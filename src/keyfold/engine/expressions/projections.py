"""Projections: what of each item a read returns."""

from __future__ import annotations

from collections.abc import Iterator

from keyfold.engine.expressions.faults import ExpressionFault
from keyfold.engine.expressions.parser import parse_projection
from keyfold.engine.expressions.paths import Projection, check_paths_apart
from keyfold.engine.expressions.placeholders import Placeholders
from keyfold.engine.expressions.trees import Path, Steps


def bind_projection(text: str, placeholders: Placeholders) -> Projection:
    """Parse a ProjectionExpression and bind it to the request's names.

    >>> projection = bind_projection("a.b[1], c", Placeholders(None, None))
    >>> projection.apply({"c": {"N": "1"}, "d": {"N": "2"}})
    {'c': {'N': '1'}}

    Raises ValidationException.
    """
    try:
        return Projection.of(resolve_apart(parse_projection(text), placeholders))
    except ExpressionFault as fault:
        raise fault.to_service_error("ProjectionExpression") from None


def resolve_apart(paths: tuple[Path, ...], placeholders: Placeholders) -> tuple[Steps, ...]:
    """Resolve paths that may not clash; raises ExpressionFault."""
    # Generated on the way, so that the last fault in the text is the one reported.
    resolved: list[Steps] = []

    def backwards() -> Iterator[Steps]:
        for path in reversed(paths):
            steps = placeholders.resolve(path)
            resolved.append(steps)
            yield steps

    check_paths_apart(backwards())
    return tuple(reversed(resolved))
