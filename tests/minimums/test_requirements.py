"""The versions that `make test-minimums` installs are those that are declared."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.minimums.run import REQUIREMENTS, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DECLARED = [
    *PROJECT["dependencies"],
    *(each for extra in PROJECT["optional-dependencies"].values() for each in extra),
]
LOCKED = dict(re.findall(r"^([\w-]+)==([\w.]+)", REQUIREMENTS.read_text(), re.MULTILINE))


@pytest.mark.parametrize("declared", DECLARED)
def test_the_oldest_declared_version_is_locked(declared: str) -> None:
    found = re.match(r"([\w-]+)>=([\w.]+)", declared)
    assert found is not None, "a dependency declares the oldest version that works"
    locked = LOCKED[found[1]]
    assert f"{locked}.".startswith(f"{found[2]}."), "run `make lock`"


def test_the_lock_has_names_versions_and_hashes_only() -> None:
    line = re.compile(r"[\w-]+==\S+( ; [^\\]+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?")
    assert [
        each for each in REQUIREMENTS.read_text().splitlines() if not line.fullmatch(each)
    ] == []
