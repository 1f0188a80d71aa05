"""A network namespace with a loopback device and nothing else.

A server that listens there on every address can neither reach the network nor be reached from it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess

LACKING = "it only runs in a network namespace, which needs Linux, unshare(1) and ip(8)"

_LOOPBACK = ["lo"]


def find_namespace_command() -> list[str] | None:
    """Return the prefix that runs a command in such a namespace; None if that is impossible."""
    unshare, ip = shutil.which("unshare"), shutil.which("ip")
    if unshare is None or ip is None:
        return None
    # Only root may make just a network namespace; other users make a user namespace with it.
    namespaces = ["--net"] if os.geteuid() == 0 else ["--net", "--map-root-user"]
    command = [unshare, *namespaces, "sh", "-c", f'{ip} link set lo up && exec "$@"', "sh"]
    works = subprocess.run([*command, "true"], check=False, capture_output=True).returncode == 0
    return command if works else None


def is_isolated() -> bool:
    """Return whether this process is in such a namespace."""
    return [name for _, name in socket.if_nameindex()] == _LOOPBACK
