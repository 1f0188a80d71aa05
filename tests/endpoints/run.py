"""Run the tests of stores, designs, followers and the demo on somebody else's engine.

    python -m tests.endpoints.run moto -k unique

What follows the name goes to pytest. The engine is installed first, and started, where it would
listen on every address, without a network.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from tests.clients.environments import Unavailable
from tests.endpoints.dynamodb_local import LocalUnavailable
from tests.endpoints.engines import ENGINES
from tests.endpoints.namespaces import LACKING, find_namespace_command

TESTS = ("tests/unit/store", "tests/unit/designs", "tests/unit/cli/test_demo.py")


def main() -> NoReturn:
    """Run pytest in place of this process; exit with 2 if the engine cannot be had here."""
    name, *arguments = sys.argv[1:] or [""]
    engine = ENGINES.get(name)
    if engine is None:
        _give_up(f"python -m tests.endpoints.run {'|'.join(ENGINES)} [ARGUMENTS…]")
    try:
        engine.install()
    except (LocalUnavailable, Unavailable) as reason:
        _give_up(f"{engine.title}: {reason}")
    namespace = [] if engine.is_confined else find_namespace_command()
    if namespace is None:
        _give_up(f"{engine.title}: {LACKING}")
    pytest = [sys.executable, "-m", "pytest", "--engine", name, *TESTS, *arguments]
    command = [*namespace, *pytest]
    os.execvp(command[0], command)


def _give_up(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
