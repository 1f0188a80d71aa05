"""Roles of the exchange rates: who publishes rates, and who only reads them."""

from __future__ import annotations

from keyfold import ALL, READ, Role
from keyfold.designs.exchange_rates._items import Rate, table

# The service that gets the rates from their source. Saving a rate may replace one, and marking one
# as stale reads it.
publisher = table.add_role(Role("publisher", can={Rate: ALL}))

# Every service that converts amounts: by pair, and by base currency on the index.
reader = table.add_role(Role("reader", can={Rate: READ}))
