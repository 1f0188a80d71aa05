"""A disk that is really full: a file system of a few megabytes, in a namespace of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from keyfold.engine import Durability

ROOT = Path(__file__).parents[2]


def in_small_disk(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command that sees a small disk at `folder`; nobody else sees it, and it goes with it."""
    script = 'mount -t tmpfs -o size=4m tmpfs "$0" && exec "$@"'
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, str(folder), *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def can_mount(folder: Path) -> bool:
    return (
        sys.platform == "linux"
        and os.geteuid() == 0
        and shutil.which("unshare") is not None
        and in_small_disk(folder, "true").returncode == 0
    )


@pytest.mark.parametrize("durability", ["durable", "process"])
def test_a_full_disk_loses_nothing_acknowledged(tmp_path: Path, durability: Durability) -> None:
    if not can_mount(tmp_path):
        pytest.skip("only the superuser of a Linux may mount a small disk")
    program = [sys.executable, "-m", "tests.crash.filling", str(tmp_path), durability]
    ended = in_small_disk(tmp_path, *program)
    assert (ended.returncode, ended.stdout) == (0, "whole\n"), ended.stderr
