"""The metaclass of pydantic's models, as a base class that every type checker understands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel

if TYPE_CHECKING:
    # Pydantic has no public name for it, and mypy does not take `type(BaseModel)` for a base class.
    from pydantic._internal._model_construction import (
        ModelMetaclass as ModelMetaclass,  # noqa: PLC0414 - pyright: it is meant to be imported
    )
else:
    ModelMetaclass = type(BaseModel)
