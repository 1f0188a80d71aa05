"""An HTTP server that any DynamoDB client can talk to.

A request passes these modules in order: `_connection` receives it and bounds it, `_requests`
says what it asks for or what is wrong with it, `_gate` decides whether it may be done (by
`_signatures`, `_keyring` and `_authorizers`), `_scheduler` has the engine carry it out,
`_answers` turns the outcome into what DynamoDB would send. `_server` starts and stops them;
`_workers` runs several servers on one port.
"""

from __future__ import annotations

from keyfold.wire.server._gate import Gate, RuledTable, make_key_gate, make_policy_gate
from keyfold.wire.server._limits import Limits
from keyfold.wire.server._server import Server

__all__ = ["Gate", "Limits", "RuledTable", "Server", "make_key_gate", "make_policy_gate"]
