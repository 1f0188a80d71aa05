from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import CheckpointUnusable, FileTaken
from keyfold.transfer._checkpoints import BatchOutcome, Checkpoint, locked
from keyfold.transfer._entities import Reject
from keyfold.transfer._tallies import Tallies

JOB = {"command": "copy", "source": "a.db"}


def open_checkpoint(folder: Path, job: dict[str, Any] = JOB) -> Checkpoint:
    return Checkpoint(folder / "job", job, rejects=folder / "rejects", started_at=5.0)


def make_outcome(*reasons: str) -> BatchOutcome:
    tallies = Tallies()
    tallies.add("Order", {"pk": {"S": "a"}}, is_expired=False)
    rejects = [Reject(reason, {"pk": {"S": reason}}) for reason in reasons]
    return BatchOutcome(1, 10, tallies, {"part": 7}, rejects, {"looked at Order": 1})


def test_recorded_progress_is_available_to_the_next_run(tmp_path: Path) -> None:
    first = open_checkpoint(tmp_path)
    first.record("0", {"pk": {"S": "a"}}, make_outcome("bad"), is_last=False)
    first.record("1", None, make_outcome(), is_last=True)
    second = open_checkpoint(tmp_path)
    assert (first.is_resumed, second.is_resumed) == (False, True)
    assert second.state == first.state
    assert second.state.positions == {"0": {"pk": {"S": "a"}}, "1": None}
    assert (second.state.done, second.state.items, second.state.rejects) == (["1"], 2, 1)


def test_rejects_not_covered_by_the_checkpoint_are_removed(tmp_path: Path) -> None:
    first = open_checkpoint(tmp_path)
    first.record("0", None, make_outcome("one"), is_last=False)
    with (tmp_path / "rejects").open("ab") as file:
        file.write(b'{"reason":"two"}\n')
    open_checkpoint(tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "rejects").read_text().splitlines()]
    assert lines == [{"reason": "one", "Item": {"pk": {"S": "one"}}}]


def test_a_rejects_file_unknown_to_the_checkpoint_is_removed(tmp_path: Path) -> None:
    open_checkpoint(tmp_path).enter("moving")
    (tmp_path / "rejects").write_bytes(b'{"reason":"one"}\n')
    assert open_checkpoint(tmp_path).is_resumed
    assert not (tmp_path / "rejects").exists()


def test_rejects_of_an_earlier_job_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "rejects").write_text("precious\n")
    with pytest.raises(FileTaken):
        open_checkpoint(tmp_path)
    assert (tmp_path / "rejects").read_text() == "precious\n"


def test_a_checkpoint_of_another_job_is_refused(tmp_path: Path) -> None:
    open_checkpoint(tmp_path).enter("moving")
    with pytest.raises(CheckpointUnusable) as refused:
        open_checkpoint(tmp_path, {**JOB, "source": "b.db"})
    assert str(refused.value) == (
        f"checkpoint {tmp_path / 'job'}: it belongs to another job: its source is 'a.db', not 'b.db'. "
        "Finish that job with its own command, name another file with --checkpoint, or remove "
        "this one to start again. [checkpoint-unusable]"
    )


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        ("not JSON", "it cannot be read"),
        ("[]", "it cannot be read"),
        ('{"format": 99}', "it was not written by this version of Keyfold"),
    ],
)
def test_an_invalid_checkpoint_is_refused(tmp_path: Path, content: str, fact: str) -> None:
    (tmp_path / "job").write_text(content)
    with pytest.raises(CheckpointUnusable, match=fact):
        open_checkpoint(tmp_path)


def test_two_processes_cannot_run_one_job_at_once(tmp_path: Path) -> None:
    path = tmp_path / "job"
    with locked(path), pytest.raises(CheckpointUnusable, match="another process"), locked(path):
        pass
    with locked(path):
        pass
    assert list(tmp_path.iterdir()) == []
