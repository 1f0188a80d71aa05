"""The lists of known differences are interpreted correctly and are complete."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.endpoints.engines import ENGINES
from tests.endpoints.known_differences import FOLDER, Difference, KnownDifferences, matches

ROOT = Path(__file__).parents[2]
PAGES = "tests/unit/store/test_pages.py"


def test_a_name_covers_a_test_with_any_parameters() -> None:
    assert matches(f"{PAGES}::test_it", f"{PAGES}::test_it")
    assert matches(f"{PAGES}::test_it", f"{PAGES}::test_it[sync-moto]")
    assert not matches(f"{PAGES}::test_it", f"{PAGES}::test_it_too[sync-moto]")
    assert not matches(f"{PAGES}::test_it", "tests/unit/store/test_parts.py::test_it")


def test_listed_parameters_cover_only_those() -> None:
    name = f"{PAGES}::test_it[sync-moto-'pk' has 3,005 bytes (of 2,048)]"
    assert matches(f"{PAGES}::test_it[*-'pk' has 3,005 bytes (of 2,048)]", name)
    assert not matches(f"{PAGES}::test_it[*-'pk']", name)


def test_a_test_that_is_not_listed_must_not_fail() -> None:
    known = KnownDifferences((Difference((f"{PAGES}::test_it",), "A reason."),))
    assert known.find_reason(f"{PAGES}::test_it[moto]") == "A reason."
    assert known.find_reason(f"{PAGES}::test_another[moto]") is None


def test_listed_tests_that_do_not_exist_are_found() -> None:
    listed = (f"{PAGES}::test_it", f"{PAGES}::test_gone", "tests/unit/other.py::test_it")
    known = KnownDifferences((Difference(listed, "A reason."),))
    # Tests in files that were not collected cannot be judged.
    assert known.find_unused([f"{PAGES}::test_it[moto]"]) == [f"{PAGES}::test_gone"]


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_has_a_list_and_a_make_target(name: str) -> None:
    known = KnownDifferences.load(name)
    tests = [test for difference in known.differences for test in difference.tests]
    assert len(set(tests)) == len(tests), "a test is listed twice"
    for difference in known.differences:
        assert difference.tests
        assert difference.reason.endswith(".")
    for test in tests:
        file, _, rest = test.partition("::")
        assert f"def {rest.partition('[')[0]}(" in (ROOT / file).read_text()
    lines = (ROOT / "Makefile").read_text().splitlines()
    (targets,) = [line for line in lines if line.startswith("engines :=")]
    assert name in targets.split()


def test_every_list_belongs_to_an_engine() -> None:
    files = {file.stem: json.loads(file.read_text()) for file in FOLDER.glob("*.json")}
    assert files.keys() == {*ENGINES, "every"}
    for name, engine in ENGINES.items():
        assert engine.title.startswith(files[name]["title"])
