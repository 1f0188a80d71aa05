"""Seeds for the tests that make random choices: the same in each run, unless it explores.

A test marked `@pytest.mark.seeds(3)` takes `seed` and runs with three of them: 0, 1 and 2, or
with `--explore` three new ones. A failing test has its seed in its name. Exploring runs keep
that seed in `.hypothesis/failing-seeds.json`, beside Hypothesis's own failing examples, and run
it again until it passes. `--seed N` runs with `N` alone.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest

KEPT = Path(__file__).parents[1] / ".hypothesis" / "failing-seeds.json"

_SEED = re.compile(r"\bseed=(\d+)\b")
_LARGEST = 10**9

FailingSeeds = dict[str, list[int]]


class Exploration:
    """The seeds of one exploring run: new ones, after those that failed in an earlier run.

    All processes of a run must collect the same tests, so they share `start` and `failing`.
    """

    def __init__(self, start: int, failing: FailingSeeds) -> None:
        self.start, self.failing = start, failing

    def choose(self, test: str, count: int) -> list[int]:
        """Return the seeds for a test, which is named without its parameters."""
        source = random.Random(f"{self.start} {test}")
        new = [source.randrange(_LARGEST) for _ in range(count)]
        return list(dict.fromkeys((*self.failing.get(test, ()), *new)))


class SeedRecorder:
    """Keeps the seeds of tests that fail, and drops those that pass in all their tests."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._failed: dict[tuple[str, int], bool] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how a test with a seed went."""
        found = _SEED.search(report.nodeid)
        if found is not None:
            key = (_name_of(report.nodeid), int(found[1]))
            self._failed[key] = self._failed.get(key, False) or report.failed

    def pytest_sessionfinish(self) -> None:
        """Write the seeds that are to run again."""
        failing = load_failing(self._path)
        for (test, seed), has_failed in self._failed.items():
            seeds = [each for each in failing.pop(test, ()) if each != seed]
            if has_failed:
                seeds.append(seed)
            if seeds:
                failing[test] = seeds
        if failing or self._path.exists():
            self._path.parent.mkdir(exist_ok=True)
            self._path.write_text(json.dumps(failing, indent=2, sort_keys=True) + "\n")


def load_failing(path: Path) -> FailingSeeds:
    """Return the seeds that failed in earlier runs, by test."""
    return json.loads(path.read_text()) if path.exists() else {}


def choose_seeds(exploration: Exploration | None, test: str, count: int) -> Iterable[int]:
    """Return the seeds that a test runs with."""
    return range(count) if exploration is None else exploration.choose(test, count)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for seeds."""
    group = parser.getgroup("seeds")
    group.addoption("--explore", action="store_true", help="run seeded tests with new seeds")
    group.addoption("--seed", type=int, help="run seeded tests with this seed alone")


def pytest_configure(config: pytest.Config) -> None:
    """Choose where an exploring run starts, in the process that starts the others."""
    if not config.getoption("--explore"):
        return
    shared: dict[str, Any] | None = getattr(config, "workerinput", None)
    if shared is None:
        start = random.SystemRandom().randrange(_LARGEST)
        config.stash[_EXPLORATION] = Exploration(start, load_failing(KEPT))
        config.pluginmanager.register(SeedRecorder(KEPT), "seed-recorder")
    else:
        config.stash[_EXPLORATION] = Exploration(*shared["exploration"])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist where the run starts."""
    exploration = cast("pytest.Config", node.config).stash.get(_EXPLORATION, None)
    if exploration is not None:
        node.workerinput["exploration"] = (exploration.start, exploration.failing)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with its seeds."""
    marker = metafunc.definition.get_closest_marker("seeds")
    if marker is None:
        return
    given: int | None = metafunc.config.getoption("--seed")
    exploration = metafunc.config.stash.get(_EXPLORATION, None)
    count = int(marker.args[0])
    test = _name_of(metafunc.definition.nodeid)
    seeds = [given] if given is not None else choose_seeds(exploration, test, count)
    metafunc.parametrize("seed", [pytest.param(seed, id=f"seed={seed}") for seed in seeds])


_EXPLORATION = pytest.StashKey[Exploration]()


def _name_of(nodeid: str) -> str:
    return nodeid.partition("[")[0]
