"""What happens to stored items that do not fit the declaration, where no page can report them."""

from __future__ import annotations

import logging
from collections.abc import Callable

from keyfold.model._formatting import show_item
from keyfold.model._results import RawItem

_LOG = logging.getLogger("keyfold.store")

OnInvalidItem = Callable[[RawItem], object]
"""Called with an item that does not fit."""


def log_invalid(item: RawItem) -> None:
    """Log a warning about an item that does not fit; its key is named, its content is not."""
    _LOG.warning("item %s of %s: %s. [item-invalid]", show_item(item.key), item.table, item.reason)
