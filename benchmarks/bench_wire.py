"""How fast the server is, compared with DynamoDB Local, moto server and dynalite.

python -m benchmarks.bench_wire --rounds 5
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import NoReturn

from benchmarks._report import make_parser
from benchmarks._wire_contestants import (
    DYNALITE,
    LOCAL_FILE,
    LOCAL_MEMORY,
    LOCAL_OLD,
    MOTO,
    Contestant,
    Unavailable,
    dynalite_server,
    keyfold_servers,
    local_servers,
    moto_server,
    old_local_server,
)
from benchmarks._wire_report import make_report
from benchmarks._wire_rounds import measure_servers
from tests.endpoints.namespaces import LACKING, find_namespace_command

_INSIDE = "--inside"


def main() -> None:
    """Measure, and print tables or JSON."""
    options = _parse_options()
    if not sys.platform.startswith("linux"):
        sys.exit("bench_wire runs on Linux only: it reads processor times and memory from /proc.")
    if options.inside is None:
        contestants, skipped = (keyfold_servers(), {}) if options.alone else _gather()
        namespace = find_namespace_command()
        if namespace is not None:
            gathered = {"contestants": [asdict(each) for each in contestants], "skipped": skipped}
            again = [sys.executable, "-m", "benchmarks.bench_wire", *sys.argv[1:]]
            command = [*namespace, *again, _INSIDE, json.dumps(gathered)]
            os.execvp(command[0], command)  # noqa: S606 - this program again
        need_namespace = {LOCAL_MEMORY, LOCAL_FILE, LOCAL_OLD}
        contestants = [each for each in contestants if each.name not in need_namespace]
        skipped[LOCAL_MEMORY] = LACKING
    else:
        gathered = json.loads(options.inside)
        contestants = [Contestant(**each) for each in gathered["contestants"]]
        skipped = gathered["skipped"]
    for name, reason in skipped.items():
        print(f"not measured: {name}: {reason}", file=sys.stderr)
    # SIGTERM raises SystemExit, so that the servers are stopped on the way out.
    signal.signal(signal.SIGTERM, _end)
    with tempfile.TemporaryDirectory(prefix="keyfold-bench-", dir=options.folder) as folder:
        results = measure_servers(
            Path(folder), contestants, options.rounds, million=options.million
        )
    make_report(results, skipped).publish(options)


def _end(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - a handler's signature
    sys.exit(1)


def _gather() -> tuple[list[Contestant], dict[str, str]]:
    """Install the servers; return those that are available, and why others are not."""
    contestants = keyfold_servers()
    skipped: dict[str, str] = {}
    others: dict[str, Callable[[], list[Contestant]]] = {
        LOCAL_MEMORY: local_servers,
        LOCAL_OLD: lambda: [old_local_server()],
        MOTO: lambda: [moto_server()],
        DYNALITE: lambda: [dynalite_server()],
    }
    for name, find in others.items():
        try:
            contestants += find()
        except Unavailable as reason:
            skipped[name] = str(reason)
    return contestants, skipped


def _parse_options() -> argparse.Namespace:
    parser = make_parser("bench_wire", __doc__, rounds=5)
    parser.add_argument("--alone", action="store_true", help="measure our own servers only")
    parser.add_argument(
        "--million",
        action="store_true",
        help="also send a million requests, and measure the server's memory",
    )
    parser.add_argument(
        "--folder", type=Path, help="folder for the files, instead of a temporary one"
    )
    parser.add_argument(_INSIDE, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
