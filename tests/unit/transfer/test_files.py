"""Output files are complete or absent, however often a run is killed."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from keyfold.errors import FileFailed, FileTaken, FileUnreachable
from keyfold.transfer import Summary, dump_table
from keyfold.transfer._files import PartFiles
from tests.unit.transfer.shop import location, make_products, open_shop, options


class Killed(Exception):
    """Simulates the death of the process."""


def dump(folder: Path) -> Summary:
    with open_shop(items=make_products(20)) as source:
        return dump_table(location(source), folder / "items.jsonl", options(folder))


def check_complete(folder: Path) -> None:
    lines = (folder / "items.jsonl").read_text().splitlines()
    assert len({json.loads(line)["Item"]["pk"]["S"] for line in lines}) == len(lines) == 20
    assert [path.name for path in folder.iterdir()] == ["items.jsonl"]


@pytest.mark.parametrize("step", ["remove_joined", "names", "clean_up"])
def test_a_run_killed_at_any_step_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def end(self: PartFiles) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(PartFiles, step, end)
        with pytest.raises(Killed):
            dump(tmp_path)
    # The file exists only after the rename.
    assert (tmp_path / "items.jsonl").exists() is (step == "clean_up")
    assert (tmp_path / "job.checkpoint").exists()
    summary = dump(tmp_path)
    assert (summary.is_resumed, summary.is_good) == (True, True)
    check_complete(tmp_path)


def test_a_run_killed_right_after_the_rename_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = PartFiles.publish

    def end(self: PartFiles, *arguments: object, **options: object) -> None:
        publish(self, *arguments, **options)  # type: ignore[arg-type] - as it was called
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(PartFiles, "publish", end)
        with pytest.raises(Killed):
            dump(tmp_path)
    assert dump(tmp_path).is_good
    check_complete(tmp_path)


def test_a_file_created_meanwhile_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "items.jsonl"

    close = PartFiles.close

    def create_file(self: PartFiles) -> None:
        close(self)
        file.write_text("precious")

    monkeypatch.setattr(PartFiles, "close", create_file)
    with pytest.raises(FileTaken):
        dump(tmp_path)
    assert file.read_text() == "precious"


def test_part_files_of_another_job_are_not_touched(tmp_path: Path) -> None:
    folder = tmp_path / "items.jsonl.parts"
    folder.mkdir()
    (folder / "diary").write_text("precious")
    with pytest.raises(FileTaken, match=r"items\.jsonl\.parts"):
        dump(tmp_path)
    assert (folder / "diary").read_text() == "precious"


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with open_shop() as source, pytest.raises(FileUnreachable, match="No such file or directory"):
        dump_table(location(source), tmp_path / "absent" / "x.jsonl", options(tmp_path))


def test_a_disk_failure_is_reported_and_the_job_can_be_resumed(
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
    check_complete(tmp_path)


def test_a_checkpoint_in_a_missing_folder_is_reported(tmp_path: Path) -> None:
    given = options(tmp_path, checkpoint=tmp_path / "absent" / "job")
    with open_shop() as source, pytest.raises(FileUnreachable, match="No such file"):
        dump_table(location(source), tmp_path / "x.jsonl", given)
