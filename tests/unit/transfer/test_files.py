"""Files that appear whole or not at all, however often a run ends too early."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from keyfold.errors import FileFailed, FileTaken, FileUnreachable
from keyfold.transfer import Summary, dump_table
from keyfold.transfer._files import Parts
from tests.unit.transfer.world import make_products, open_shop, options, place


class Ended(Exception):
    """The process is no more."""


def dump(folder: Path) -> Summary:
    with open_shop(items=make_products(20)) as source:
        return dump_table(place(source), folder / "items.jsonl", options(folder))


def check_whole(folder: Path) -> None:
    lines = (folder / "items.jsonl").read_text().splitlines()
    assert len({json.loads(line)["Item"]["pk"]["S"] for line in lines}) == len(lines) == 20
    assert [path.name for path in folder.iterdir()] == ["items.jsonl"]


@pytest.mark.parametrize("step", ["remove_joined", "names", "clean_up"])
def test_a_run_that_ends_at_any_step_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def end(self: Parts) -> None:
        raise Ended

    with monkeypatch.context() as patched:
        patched.setattr(Parts, step, end)
        with pytest.raises(Ended):
            dump(tmp_path)
    # Only once it is renamed is there a file.
    assert (tmp_path / "items.jsonl").exists() is (step == "clean_up")
    assert (tmp_path / "job.checkpoint").exists()
    summary = dump(tmp_path)
    assert (summary.is_resumed, summary.is_good) == (True, True)
    check_whole(tmp_path)


def test_a_run_that_ends_right_after_the_renaming_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place_whole = Parts.place

    def end(self: Parts, *arguments: object, **options: object) -> None:
        place_whole(self, *arguments, **options)  # type: ignore[arg-type] - as it was called
        raise Ended

    with monkeypatch.context() as patched:
        patched.setattr(Parts, "place", end)
        with pytest.raises(Ended):
            dump(tmp_path)
    assert dump(tmp_path).is_good
    check_whole(tmp_path)


def test_a_file_that_came_in_between_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "items.jsonl"

    close = Parts.close

    def meddle(self: Parts) -> None:
        close(self)
        file.write_text("precious")

    monkeypatch.setattr(Parts, "close", meddle)
    with pytest.raises(FileTaken):
        dump(tmp_path)
    assert file.read_text() == "precious"


def test_parts_of_another_job_are_not_touched(tmp_path: Path) -> None:
    folder = tmp_path / "items.jsonl.parts"
    folder.mkdir()
    (folder / "diary").write_text("precious")
    with pytest.raises(FileTaken, match=r"items\.jsonl\.parts"):
        dump(tmp_path)
    assert (folder / "diary").read_text() == "precious"


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with open_shop() as source, pytest.raises(FileUnreachable, match="No such file or directory"):
        dump_table(place(source), tmp_path / "absent" / "x.jsonl", options(tmp_path))


def test_a_disk_that_fails_is_told_and_the_job_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(FileFailed, match="No space left on device"):
            dump(tmp_path)
    assert not (tmp_path / "items.jsonl").exists()
    assert dump(tmp_path).is_good
    check_whole(tmp_path)


def test_a_checkpoint_in_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    given = options(tmp_path, checkpoint=tmp_path / "absent" / "job")
    with open_shop() as source, pytest.raises(FileUnreachable, match="No such file"):
        dump_table(place(source), tmp_path / "x.jsonl", given)
