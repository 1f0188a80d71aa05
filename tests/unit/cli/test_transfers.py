"""The progress display and file names of the copy, dump, load and backfill commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from keyfold.cli import _terminal
from keyfold.cli._transfers import ProgressDisplay, choose_path, path_beside, show_progress
from keyfold.transfer import Progress

MOVING = Progress(
    phase="moving",
    items=1_200,
    size_bytes=2_400_000,
    rejects=0,
    items_per_second=300.4,
    expected_items=5_000,
    seconds_left=12.6,
    read_units=150.0,
    write_units=2_400.0,
)


def test_progress_shows_items_bytes_speed_time_and_capacity() -> None:
    assert show_progress(MOVING) == (
        "1,200 of 5,000 items, 2.3 MB, 300 items/s, 13 s left, 150 read units, 2,400 write units"
    )


def test_unknown_values_are_left_out() -> None:
    unknown = Progress("verifying", 3, 90, 2, 0.0, None, None, 0.0, 0.0)
    assert show_progress(unknown) == "3 items, 90 bytes, 0 items/s, 2 rejected"


def test_without_a_terminal_a_line_is_printed_now_and_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    times = iter([0.0, 1.0, 5.0, 5.0, 6.0, 9.0])
    with ProgressDisplay("copying Shop", monotonic=lambda: next(times)) as show:
        for _ in range(4):
            show(MOVING)
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    assert line.startswith("copying Shop, moving: 1,200 of 5,000 items")


def test_on_a_terminal_a_bar_is_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with (tmp_path / "screen").open("w") as screen:
        console = Console(file=screen, force_terminal=True, width=160)
        monkeypatch.setattr(_terminal, "make_progress_console", lambda: console)
        with ProgressDisplay("copying Shop") as show:
            show(MOVING)
    drawn = (tmp_path / "screen").read_text()
    assert "copying Shop, moving" in drawn
    assert "1,200 of 5,000 items" in drawn
    assert "━" in drawn


def test_the_files_of_a_job_are_beside_the_database() -> None:
    assert path_beside("copy", "Shop", "checkpoint", "http://a", "http://b") == Path(
        "keyfold.copy-Shop.checkpoint"
    )
    given = Path("here/mine")
    other = Path("other")
    assert choose_path(None, "Shop", other, is_one_of_several=True) == other
    assert choose_path(given, "Shop", other, is_one_of_several=False) == given
    assert choose_path(given, "Shop", other, is_one_of_several=True) == Path("here/mine.Shop")
