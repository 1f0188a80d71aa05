"""Run mutmut on modules that must not fail, and compare the survivors with the list of known ones.

    python -m tests.mutants.run guard keys --jobs 2

Without names, all groups of `tests/mutants/groups.py` run, one after another; `storage` stands for the
groups whose names begin with `storage-`. `--list FILE` writes the survivors that are not listed, for
`tests/mutants/survivors.toml`. The exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tests.clients.environments import Unavailable, make_python
from tests.mutants.groups import GROUPS, MutantGroup
from tests.mutants.survivors import KnownSurvivors, Mutant, MutantRun, read_run, render, report
from tests.mutants.undecorated import undecorate

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = Path(__file__).with_name("requirements.txt")

# What the chosen tests read of the repository.
_COPIED = ("src", "tests", "README.md", "docs", "scripts", "examples")
# It switches to another user, who may not read what mutmut imports.
_DESELECTED = (
    "tests/unit/engine/storage/test_opening.py::"
    "test_a_read_only_file_or_folder_is_refused_and_left_unchanged"
)
_PYTEST = (
    *("-n", "0", "-q", "-p", "no:cacheprovider", "--deselect", _DESELECTED),
    *("-p", "tests.mutants.pytest_plugin", "--hypothesis-profile=mutants"),
)


def main() -> int:
    """Run the groups that are named; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.run", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--jobs", type=int, default=1, help="processes that run tests at a time")
    parser.add_argument("--list", type=Path, help="a file for survivors that are not listed")
    asked = parser.parse_args()
    try:
        names = find_groups(asked.groups)
    except LookupError as error:
        parser.error(str(error))
    try:
        tool = Path(make_python("mutants", REQUIREMENTS)).parents[1]
    except Unavailable as reason:
        print(f"mutants: {reason}", file=sys.stderr)
        return 2
    (packages,) = tool.glob("lib/python*/site-packages")
    known, unlisted = KnownSurvivors.load(), dict[Mutant, str]()
    for name in names:
        group = GROUPS[name]
        print(f"\n{name}: {', '.join(group.modules)}", flush=True)
        with tempfile.TemporaryDirectory(prefix="keyfold-mutants-", dir=_find_memory()) as folder:
            found = run_group(group, Path(folder), packages, jobs=asked.jobs)
        text, _ = report(found, known, group.modules)
        print(text, flush=True)
        unlisted |= {each: "" for each in found.survivors if each not in known.reasons}
    if asked.list is not None:
        asked.list.write_text(render(unlisted), "utf-8")
    return 1 if unlisted else 0


def find_groups(asked: list[str]) -> list[str]:
    """Return the groups with these names, or that begin with one of them; raises LookupError."""
    found: list[str] = []
    for wanted in asked:
        matching = [name for name in GROUPS if name == wanted or name.startswith(f"{wanted}-")]
        if not matching:
            raise LookupError(f"there is no group {wanted!r}; there are {', '.join(GROUPS)}")
        found += matching
    return found or [*GROUPS]


def _find_memory() -> str | None:
    """Return a folder in memory, if there is one: files that are synced are slow elsewhere."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def run_group(group: MutantGroup, folder: Path, packages: Path, *, jobs: int) -> MutantRun:
    """Copy the repository to a folder, mutate it there, and run the tests on each mutant."""
    for each in _COPIED:
        source = ROOT / each
        if source.is_dir():
            shutil.copytree(source, folder / each, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder)
    for module in group.modules:
        path = folder / "src/keyfold" / module
        path.write_text(undecorate(path.read_text("utf-8")), "utf-8")
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    (folder / "pyproject.toml").write_text(f"{project}\n{_configure(group)}", "utf-8")
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(jobs)]
    # Programs that tests start run the mutant, too.
    mutated, temporary = folder / "mutants/src", folder / "tmp"
    for each in (mutated, temporary):
        each.mkdir(parents=True)
    paths = os.pathsep.join((str(packages), str(mutated)))
    environment = {**os.environ, "PYTHONPATH": paths, "TMPDIR": str(temporary)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"mutmut failed:\n{done.stdout[-5_000:]}\n{done.stderr[-5_000:]}")
    return read_run(folder / "mutants/src/keyfold", group.modules)


def _configure(group: MutantGroup) -> str:
    """Return mutmut's section of `pyproject.toml`."""
    settings = {
        "source_paths": ["src"],
        "only_mutate": [f"src/keyfold/{each}" for each in group.modules],
        "also_copy": [each for each in _COPIED if each not in ("src", "tests")],
        "pytest_add_cli_args": [*_PYTEST],
        "pytest_add_cli_args_test_selection": [*group.tests],
        # In seconds, of which mutmut waits fifteen times as many. `watchdog.py` is better at it.
        "timeout_constant": 60.0,
    }
    lines = [f"{name} = {value!r}" for name, value in settings.items()]
    # The engine does not outlive a fork, so no test may have run before one.
    lines.append('process_isolation = "forkserver"')
    section = "\n".join(("[tool.mutmut]", *lines, ""))
    assert tomllib.loads(section)["tool"]["mutmut"]["source_paths"] == ["src"]
    return section


if __name__ == "__main__":
    sys.exit(main())
