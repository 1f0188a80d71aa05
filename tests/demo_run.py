"""One run of `keyfold demo` for all tests that look at what it prints and leaves behind."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True, slots=True)
class DemoRun:
    """What `keyfold demo --db FOLDER` printed, and what `--json` prints for the same reports."""

    file: str
    text: str
    errors: str
    as_json: str


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> DemoRun:
    """Run the demo, in the first process that asks; the others wait for what it leaves."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder /= "demo"
    folder.mkdir(exist_ok=True)
    kept = folder / "run.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_text(json.dumps(asdict(_run(folder))))
        return DemoRun(**json.loads(kept.read_text()))


def _run(folder: Path) -> DemoRun:
    # Not above: this is loaded with every test, also where the command line is not installed.
    from keyfold.cli import _demo

    reports: list[Any] = []
    run_demo = _demo.run_demo

    def run_once(*arguments: Any, **options: Any) -> list[Any]:
        if not reports:
            reports.extend(run_demo(*arguments, **options))
        return reports

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_demo, "run_demo", run_once)
        text, errors = _print("demo", "--db", str(folder))
        as_json, _ = _print("demo", "--json")
    return DemoRun(str(folder / "demo.db"), text, errors, as_json)


def _print(*arguments: str) -> tuple[str, str]:
    from keyfold.cli import main

    with (
        redirect_stdout(StringIO()) as out,
        redirect_stderr(StringIO()) as err,
        pytest.raises(SystemExit) as exited,
    ):
        main(list(arguments))
    assert exited.value.code == 0, out.getvalue()
    return out.getvalue(), err.getvalue()
