"""What is listed of other engines is read as it is meant, and is complete."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.endpoints.engines import ENGINES
from tests.endpoints.known import FOLDER, Difference, Known, is_meant

ROOT = Path(__file__).parents[2]
PAGES = "tests/unit/store/test_pages.py"


def test_a_name_means_a_test_with_whatever_parameters() -> None:
    assert is_meant(f"{PAGES}::test_it", f"{PAGES}::test_it")
    assert is_meant(f"{PAGES}::test_it", f"{PAGES}::test_it[sync-moto]")
    assert not is_meant(f"{PAGES}::test_it", f"{PAGES}::test_it_too[sync-moto]")
    assert not is_meant(f"{PAGES}::test_it", "tests/unit/store/test_parts.py::test_it")


def test_parameters_mean_those_alone() -> None:
    name = f"{PAGES}::test_it[sync-moto-'pk' has 3,005 bytes (of 2,048)]"
    assert is_meant(f"{PAGES}::test_it[*-'pk' has 3,005 bytes (of 2,048)]", name)
    assert not is_meant(f"{PAGES}::test_it[*-'pk']", name)


def test_a_test_that_is_not_listed_must_not_fail() -> None:
    known = Known((Difference((f"{PAGES}::test_it",), "It is so."),))
    assert known.find_reason(f"{PAGES}::test_it[moto]") == "It is so."
    assert known.find_reason(f"{PAGES}::test_another[moto]") is None


def test_what_is_listed_and_not_there_is_found() -> None:
    listed = (f"{PAGES}::test_it", f"{PAGES}::test_gone", "tests/unit/other.py::test_it")
    known = Known((Difference(listed, "It is so."),))
    # Of a file that was not asked for, nothing is known.
    assert known.find_unused([f"{PAGES}::test_it[moto]"]) == [f"{PAGES}::test_gone"]


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_has_its_list_and_its_target(name: str) -> None:
    known = Known.load(name)
    tests = [test for difference in known.differences for test in difference.tests]
    assert len(set(tests)) == len(tests), "none is listed twice"
    for difference in known.differences:
        assert difference.tests
        assert difference.reason.endswith(".")
    for test in tests:
        file, _, rest = test.partition("::")
        assert f"def {rest.partition('[')[0]}(" in (ROOT / file).read_text()
    lines = (ROOT / "Makefile").read_text().splitlines()
    (targets,) = [line for line in lines if line.startswith("engines :=")]
    assert name in targets.split()


def test_no_list_is_of_an_engine_that_is_not_there() -> None:
    files = {file.stem: json.loads(file.read_text()) for file in FOLDER.glob("*.json")}
    assert files.keys() == {*ENGINES, "every"}
    for name, engine in ENGINES.items():
        assert engine.title.startswith(files[name]["title"])
