"""Sets of operations by what a role needs to call them: see `keyfold.api.Grant`."""

from __future__ import annotations

from keyfold.api import names_where

BY_RIGHTS = names_where(lambda each: each.grant == "rights")
SHOWING = names_where(lambda each: each.grant == "shows items")
MOVING = names_where(lambda each: each.grant == "moves items")
HARMLESS = names_where(lambda each: each.grant == "harmless")
ADMINISTRATION = names_where(lambda each: each.grant == "administration")

BY_NAME = SHOWING | MOVING | HARMLESS | ADMINISTRATION
