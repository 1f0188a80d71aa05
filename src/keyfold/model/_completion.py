"""What the store adds to an entity when it writes it: timestamps, and the work of `before_write`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from keyfold.keys._annotations import find_type
from keyfold.model._codecs import ModelCodec, StoredField
from keyfold.model._fields import TimeOfCreation, TimeOfWrite


@dataclass(frozen=True, slots=True)
class WriteCompletion:
    """The timestamps of an entity, and whether it declares `before_write`."""

    created: StoredField | None
    updated: StoredField | None
    has_hook: bool

    def is_set_by_store(self, field: StoredField | None) -> bool:
        """Return whether a field is a timestamp."""
        return field is not None and (field is self.created or field is self.updated)


def read_completion(codec: ModelCodec, *, has_hook: bool) -> WriteCompletion | None:
    """Return what the store adds to an entity; None if nothing."""
    created, updated = (
        next((each for each in codec.fields.values() if each.has_mark(mark)), None)
        for mark in (TimeOfCreation, TimeOfWrite)
    )
    if created is None and updated is None and not has_hook:
        return None
    return WriteCompletion(created, updated, has_hook)


def find_timestamp_problems(
    owner: str, codec: ModelCodec, key_fields: Collection[str]
) -> Iterator[str]:
    """Yield the problems of timestamps."""
    for mark, shown in ((TimeOfCreation, "CreatedAt"), (TimeOfWrite, "UpdatedAt")):
        marked = [each for each in codec.fields.values() if each.has_mark(mark)]
        if len(marked) > 1:
            yield f"{owner}: it has several {shown} fields; keep one."
        for each in marked:
            if each.name in key_fields:
                yield (
                    f"{owner}.{each.name}: it is {shown}, which is known only when the entity is "
                    "written, so the item's key cannot be made from it. Use an id such as a Ulid."
                )
            if find_type(each.annotation) is not datetime:
                yield f"{owner}.{each.name}: it is {shown}, so it must be a datetime or UnixTime."
