"""Run the tests of stores, designs, followers, the demo and the stories on another engine.

    python -m tests.endpoints.run moto -k unique

Arguments after the name go to pytest. The engine is installed first; if it would listen on every
address, it is started without a network.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from tests.clients.environments import Unavailable
from tests.endpoints.dynamodb_local import LocalUnavailable
from tests.endpoints.engines import ENGINES
from tests.endpoints.namespaces import LACKING, find_namespace_command

TESTS = (
    "tests/unit/store",
    "tests/unit/designs",
    "tests/unit/cli/test_demo.py",
    "tests/unit/cli/test_document_rows.py",
    "tests/unit/cli/test_stories.py",
)


def main() -> NoReturn:
    """Replace this process by pytest; exit with 2 if the engine is not available here."""
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
