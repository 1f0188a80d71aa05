"""A network namespace with a loopback device and nothing else.

What listens there on every address can neither be reached from elsewhere nor reach anyone.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess

LACKING = "it runs without a network only, which takes Linux, unshare(1) and ip(8)"

_LOOPBACK = ["lo"]


def find_namespace_command() -> list[str] | None:
    """Return the command before another that leaves it nothing but a loopback device, if any."""
    unshare, ip = shutil.which("unshare"), shutil.which("ip")
    if unshare is None or ip is None:
        return None
    # Only root may make a network namespace alone; others make a user namespace with it.
    namespaces = ["--net"] if os.geteuid() == 0 else ["--net", "--map-root-user"]
    command = [unshare, *namespaces, "sh", "-c", f'{ip} link set lo up && exec "$@"', "sh"]
    works = subprocess.run([*command, "true"], check=False, capture_output=True).returncode == 0
    return command if works else None


def is_alone() -> bool:
    """Tell whether this process is in such a namespace."""
    return [name for _, name in socket.if_nameindex()] == _LOOPBACK
