"""Prefixes that many of the service's messages share."""

from __future__ import annotations

INVALID = "One or more parameter values were invalid: "
NOT_VALID = "One or more parameter values are not valid. "
