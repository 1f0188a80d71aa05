"""The audit log of agents' calls: a line for each, before the answer, or no answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import OptionInvalid
from keyfold.service import Caller
from keyfold.service._database import ServiceDatabase
from keyfold.service.mcp import AgentService, AgentSettings, AuditLog, ToolAnswer
from tests.unit.service.mcp.journal import ADA, journal
from tests.unit.service.tokens import Watch

SECRET = "correct horse"
NOTE = {"user": "ada", "number": 1, "text": SECRET}


def call_all(log: AuditLog, *calls: tuple[str, dict[str, Any]]) -> list[ToolAnswer]:
    async def main() -> list[ToolAnswer]:
        settings = AgentSettings(may_write=True, audit=log)
        service = AgentService(journal, ServiceDatabase(journal, ":memory:"), settings)
        answers = [await service.call(ADA, name, given) for name, given in calls]
        await service.database.close()
        return answers

    return asyncio.run(main())


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


def test_each_call_is_logged_with_how_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path, clock=Watch(), key=bytes(32))
    call_all(
        log,
        ("note_of", {"user": "ada", "number": 1}),
        ("note_of", {"user": "bob", "number": 1}),
        ("note_of", {"user": "bob", "number": 1, SECRET: 1}),
        (SECRET * 100, {}),
    )
    found = lines(path)
    assert [each["status"] for each in found] == [
        "ok",
        "access-denied",
        "value-invalid",
        "tool-unknown",
    ]
    first = found[0]
    del first["call"], first["values"]
    assert first == {
        "time": "2027-01-15T08:00:00.000+00:00",
        "principal": "(['owner'], [('user', 'ada')])",
        "tool": "note_of",
        "arguments": ["user", "number"],
        "unknown_arguments": 0,
        "event": "end",
        "status": "ok",
        "items": 0,
        "units": 0.5,
    }
    assert found[2]["unknown_arguments"] == 1
    assert len(found[3]["tool"]) == 100
    assert (path.stat().st_mode & 0o777) == 0o600


def test_values_are_not_logged_but_can_be_compared(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    one, other = {"user": "ada", "number": 1}, {"number": 1, "user": "ada"}
    call_all(
        AuditLog(path),
        ("write_note", {"note": NOTE}),
        ("note_of", one),
        ("note_of", other),
        ("note_of", {**one, "number": 2}),
    )
    assert SECRET not in path.read_text()
    equal, same, different = [each["values"] for each in lines(path)[2:]]
    assert equal == same != different


def test_a_write_is_logged_before_and_after(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    call_all(AuditLog(path), ("write_note", {"note": NOTE}), ("write_note", {"note": NOTE}))
    found = lines(path)
    assert [(each["event"], each.get("status")) for each in found] == [
        ("begin", None),
        ("end", "ok"),
        ("begin", None),
        ("end", "already-exists"),
    ]
    assert found[0]["call"] == found[1]["call"] != found[2]["call"]


def test_nothing_is_read_or_written_if_the_log_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    full = False

    def write(log: AuditLog, *given: Any, write: Any = AuditLog._write, **facts: Any) -> None:
        if full:
            monkeypatch.setattr(log, "_file", -1)
        write(log, *given, **facts)

    monkeypatch.setattr(AuditLog, "_write", write)
    (stored,) = call_all(log, ("write_note", {"note": NOTE}))
    assert not stored.is_error
    full = True
    refused = call_all(
        log,
        ("write_note", {"note": {**NOTE, "number": 2}}),
        ("note_of", {"user": "ada", "number": 1}),
    )
    assert [each.document["code"] for each in refused] == ["audit-failed"] * 2
    assert all("result" not in each.document for each in refused)


def test_a_write_whose_end_cannot_be_logged_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    begin = log.begin

    def begin_last(entry: Any) -> None:
        begin(entry)
        monkeypatch.setattr(log, "_file", -1)

    monkeypatch.setattr(log, "begin", begin_last)
    (answer,) = call_all(log, ("write_note", {"note": NOTE}))
    assert answer.is_error
    assert answer.document["code"] == "audit-failed"
    assert answer.document["detail"].startswith("It was carried out")


def test_a_call_that_is_cancelled_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "audit.jsonl"

    async def main() -> None:
        settings = AgentSettings(audit=AuditLog(path))
        service = AgentService(journal, ServiceDatabase(journal, ":memory:"), settings)
        never: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def wait(_: Caller | None) -> asyncio.Future[Any]:
            return never

        monkeypatch.setattr(service, "open", wait)
        task = asyncio.ensure_future(service.call(ADA, "note_of", {"user": "ada", "number": 1}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await service.database.close()

    asyncio.run(main())
    assert [each["status"] for each in lines(path)] == ["cancelled"]


def test_a_log_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionInvalid, match="cannot be opened"):
        AuditLog(tmp_path / "none" / "audit.jsonl")
