"""Patches: new values of some fields of an entity, as a partial model or a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

Patch = BaseModel | Mapping[str, Any]


def read_patch(patch: Patch) -> Mapping[str, Any]:
    """Return the values of a patch by field name; of a model, those of the fields that are set."""
    if not isinstance(patch, BaseModel):
        return patch
    names = [*type(patch).__pydantic_fields__, *(patch.model_extra or ())]
    return {name: getattr(patch, name) for name in names if name in patch.model_fields_set}
