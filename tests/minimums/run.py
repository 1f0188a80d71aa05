"""Run some of the tests with the oldest dependencies that `pyproject.toml` declares.

    python -m tests.minimums.run -k pages

Arguments go to pytest. `make lock` finds the versions. They are installed into an environment of their
own, which is kept.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from tests.clients.environments import Unavailable, make_python

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = Path(__file__).with_name("requirements.txt")

# Each dependency is used by some of them: pydantic, apsw, cryptography, httptools and uvloop, orjson,
# typer and rich, botocore, OpenTelemetry.
TESTS = (
    "tests/unit/model",
    "tests/unit/engine/storage",
    "tests/unit/store/test_handles.py",
    "tests/unit/store/test_opentelemetry.py",
    "tests/unit/store/test_pages.py",
    "tests/unit/wire/server/test_connection.py",
    "tests/unit/wire/server/test_requests.py",
    "tests/unit/wire/server/test_server.py",
    "tests/unit/wire/client/test_credentials.py",
    "tests/unit/cli/test_app.py",
    "tests/unit/cli/test_sql.py",
)
OPTIONS = (
    *("-q", "-p", "no:cacheprovider"),
    # Old versions use what newer versions of their own dependencies deprecate.
    *("-W", "ignore::DeprecationWarning"),
    # The package is not installed there.
    *("--deselect", "tests/unit/cli/test_app.py::test_the_program_is_installed"),
)


def main() -> NoReturn:
    """Replace this process by pytest; exit with 2 if the versions cannot be installed."""
    try:
        python = make_python("minimums", REQUIREMENTS)
    except Unavailable as reason:
        print(f"minimums: {reason}", file=sys.stderr)
        sys.exit(2)
    os.chdir(ROOT)
    os.environ["PYTHONPATH"] = str(ROOT / "src")
    os.execv(python, [python, "-m", "pytest", *OPTIONS, *TESTS, *sys.argv[1:]])


if __name__ == "__main__":
    main()
