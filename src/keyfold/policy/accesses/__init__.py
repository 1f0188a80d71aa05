"""The accesses of a call, read from the call and the names of key attributes alone.

There is one reading of a call: a server reads the requests that it receives, and the store of a
principal reads its calls before it makes them.
"""

from __future__ import annotations

from keyfold.policy.accesses._dispatch import read_accesses
from keyfold.policy.accesses._existence import find_existence, spellings_of
from keyfold.policy.accesses._named_tables import KeyLookup

__all__ = ["KeyLookup", "find_existence", "read_accesses", "spellings_of"]
