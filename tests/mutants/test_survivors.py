"""The list of survivors, and how a run is compared with it."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest

from tests.mutants.groups import GROUPS
from tests.mutants.run import REQUIREMENTS, ROOT, _configure, find_groups
from tests.mutants.survivors import (
    KnownSurvivors,
    Mutant,
    MutantRun,
    is_reason,
    read_run,
    render,
    report,
)
from tests.mutants.undecorated import undecorate

MODULES = [each for group in GROUPS.values() for each in group.modules]

# As mutmut writes it.
MUTATED = """
class Box:
    def xǁBoxǁopen__mutmut_orig(self, lid: int) -> bool:
        if lid > 1:
            return True
        return False

    def xǁBoxǁopen__mutmut_1(self, lid: int) -> bool:
        if lid >= 1:
            return True
        return False

    def xǁBoxǁopen__mutmut_2(self, lid: int) -> bool:
        if lid > 1:
            return False
        return False

def x_close__mutmut_orig() -> str:
    return (
        "a"
    )

def x_close__mutmut_1() -> str:
    return (
        "XXaXX"
    )

def x_close__mutmut_2() -> str:
    return (
        "A"
    )
"""
OPEN = Mutant("box.py", "Box.open", "if lid > 1:", "if lid >= 1:")
CLOSE = Mutant("box.py", "close", '"a"', '"A"')


@pytest.mark.parametrize("name", GROUPS)
def test_the_modules_and_tests_of_a_group_exist(name: str) -> None:
    group = GROUPS[name]
    assert [each for each in group.modules if not (ROOT / "src/keyfold" / each).is_file()] == []
    assert [each for each in group.tests if not (ROOT / each).exists()] == []
    settings = tomllib.loads(_configure(group))["tool"]["mutmut"]
    assert settings["pytest_add_cli_args_test_selection"] == [*group.tests]


def test_a_name_stands_for_the_groups_that_begin_with_it() -> None:
    assert find_groups([]) == [*GROUPS]
    assert find_groups(["keys"]) == ["keys"]
    assert find_groups(["storage"]) == [name for name in GROUPS if name.startswith("storage-")]
    with pytest.raises(LookupError, match="there is no group 'stor'; there are guard, "):
        find_groups(["stor"])


@pytest.mark.parametrize("module", MODULES)
def test_no_function_of_a_group_has_a_decorator_that_keeps_it_from_being_changed(
    module: str,
) -> None:
    source = undecorate((ROOT / "src/keyfold" / module).read_text("utf-8"))
    decorators = [
        ast.unparse(each)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        for each in node.decorator_list
    ]
    assert {*decorators} <= {"classmethod", "staticmethod"}


def test_each_survivor_is_listed_once_with_a_reason_and_its_code_exists() -> None:
    known = KnownSurvivors.load()
    listed = tomllib.loads((ROOT / "tests/mutants/survivors.toml").read_text("utf-8"))
    assert sum(len(each["now"]) for each in listed.get("survivor", [])) == len(known.reasons)
    for mutant, reason in known.reasons.items():
        assert is_reason(reason), mutant
        assert mutant.module in MODULES
        source = (ROOT / "src/keyfold" / mutant.module).read_text("utf-8")
        lines = {line.strip() for line in source.splitlines()}
        assert mutant.was
        assert [each for each in mutant.was.splitlines() if each not in lines] == []


def test_survivors_of_a_run_are_found_with_the_lines_that_they_change(tmp_path: Path) -> None:
    (tmp_path / "box.py").write_text(MUTATED, "utf-8")
    codes = {
        "keyfold.box.xǁBoxǁopen__mutmut_1": 0,
        "keyfold.box.xǁBoxǁopen__mutmut_2": 1,
        "keyfold.box.x_close__mutmut_1": 36,
        "keyfold.box.x_close__mutmut_2": 33,
    }
    (tmp_path / "box.py.meta").write_text(json.dumps({"exit_code_by_key": codes}), "utf-8")
    assert read_run(tmp_path, ["box.py"]) == MutantRun(4, (CLOSE, OPEN), 1)


def test_a_survivor_that_is_not_listed_fails_a_run() -> None:
    known = KnownSurvivors({OPEN: "equivalent: a lid is never 1"})
    text, is_good = report(MutantRun(9, (OPEN, CLOSE), 3), known, ["box.py"])
    assert not is_good
    assert "9 mutants: 7 killed (3 never ended), 2 survived, 1 not listed." in text
    assert "1 listed: equivalent" in text
    assert 'Survived, and is not listed:\n  box.py, close\n  - "a"\n  + "A"' in text


def test_a_listed_survivor_that_is_killed_is_reported() -> None:
    known = KnownSurvivors({OPEN: "equivalent: a lid is never 1", CLOSE: "wording: of a label"})
    text, is_good = report(MutantRun(9, (OPEN,)), known, ["box.py"])
    assert is_good
    assert "Killed now, or gone; remove it from the list:\n  box.py, close" in text
    text, _ = report(MutantRun(9, ()), known, ["other.py"])
    assert "Killed" not in text, "its module was not run"


def test_a_list_is_read_as_it_was_written(tmp_path: Path) -> None:
    lines = Mutant("box.py", "Box.open", "a = 'x'\nb", 'a = "\\"\nb')
    reasons = {OPEN: "speed: of nothing", CLOSE: "wording: of a label", lines: "type: of a hint"}
    path = tmp_path / "survivors.toml"
    path.write_text(render(reasons), "utf-8")
    assert KnownSurvivors.load(path).reasons == reasons


def test_the_tool_and_the_tests_share_their_dependencies() -> None:
    def read(path: Path) -> dict[str, str]:
        return dict(re.findall(r"^([\w-]+)==([\w.]+)", path.read_text("utf-8"), re.MULTILINE))

    tool, tests = read(REQUIREMENTS), read(ROOT / "requirements-dev.txt")
    assert tool.keys() & tests.keys() >= {"pytest"}
    assert [each for each in tool if each in tests and tool[each] != tests[each]] == []
