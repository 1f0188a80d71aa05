"""Other users of the machine: they read no database that is behind keys, and write no rights."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from keyfold.errors import KeysUnusable, OptionInvalid, PolicyInvalid
from keyfold.wire.server import make_key_gate, make_policy_gate
from keyfold.wire.server._file_access import _check_writers
from keyfold.wire.server._process import ProcessSettings, open_engine
from tests.unit.wire.server.http import CREATE, TABLE

POLICY = '{"Version": "2012-10-17", "Statement": []}'


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes_in(folder: Path) -> dict[str, int]:
    return {each.name: stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()}


@pytest.mark.parametrize("durability", ["durable", "process"])
def test_a_database_behind_keys_is_for_its_owner(
    umask: int, durability: str, tmp_path: Path
) -> None:
    path = tmp_path / "shop.db"
    settings = ProcessSettings(str(path), durability=durability, auth="keys.toml")
    with open_engine(settings, upkeep_seconds=None) as engine:
        engine.execute("CreateTable", CREATE)
        engine.execute("PutItem", {"TableName": TABLE, "Item": {"pk": {"S": "a"}}})
        found = modes_in(tmp_path)
    assert {"shop.db", "shop.db-wal", "shop.db-shm"} <= found.keys()
    assert set(found.values()) == {0o600}
    assert set(modes_in(tmp_path).values()) == {0o600}


def test_without_keys_the_umask_decides(umask: int, tmp_path: Path) -> None:
    with open_engine(ProcessSettings(str(tmp_path / "shop.db")), upkeep_seconds=None):
        assert set(modes_in(tmp_path).values()) == {0o644 & ~umask}


def test_an_existing_database_keeps_its_mode_and_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "shop.db"
    open_engine(ProcessSettings(str(path)), upkeep_seconds=None).close()
    path.chmod(0o640)
    settings = ProcessSettings(str(path), auth="keys.toml")
    with caplog.at_level(logging.WARNING, "keyfold.server"):
        open_engine(settings, upkeep_seconds=None).close()
    assert modes_in(tmp_path)["shop.db"] == 0o640
    (record,) = caplog.records
    assert record.getMessage() == (
        f"{path}: users other than its owner may access it (mode 0640), without a key. "
        f"Run `chmod 600 {path}*`."
    )
    path.chmod(0o600)
    open_engine(settings, upkeep_seconds=None).close()
    assert len(caplog.records) == 1


def test_a_server_that_does_not_start_leaves_no_file(tmp_path: Path) -> None:
    settings = ProcessSettings(str(tmp_path / "shop.db"), durability="maybe", auth="keys.toml")
    with pytest.raises(OptionInvalid):
        open_engine(settings)
    assert modes_in(tmp_path) == {}


def make_policy(folder: Path, mode: int = 0o644) -> str:
    path = folder / "policy.json"
    path.write_text(POLICY)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o444])
def test_a_policy_may_be_read_by_others(tmp_path: Path, mode: int) -> None:
    make_policy_gate(make_policy(tmp_path, mode), lambda _: None)


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666, 0o620])
def test_a_policy_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = make_policy(tmp_path, mode)
    with pytest.raises(PolicyInvalid) as refused:
        make_policy_gate(path, lambda _: None)
    assert str(refused.value) == (
        f"{path}: users other than its owner may change it (mode {mode:04o}). "
        f"Run `chmod go-w {path}`. [policy-invalid]"
    )


def test_a_policy_of_another_user_is_refused() -> None:
    def refuse(fact: str, advice: str) -> PolicyInvalid:
        return PolicyInvalid("policy.json", fact, advice)

    other = os.stat_result((stat.S_IFREG | 0o644, 1, 1, 1, os.geteuid() + 1, 0, 0, 0, 0, 0))
    with pytest.raises(PolicyInvalid, match="who may change it"):
        _check_writers("policy.json", other, refuse)


def test_a_policy_is_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    for path in (pipe, tmp_path):
        with pytest.raises(PolicyInvalid, match="it is not a file"):
            make_policy_gate(str(path), lambda _: None)


def test_a_folder_that_everybody_may_write_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    policy = make_policy(folder)
    keys = folder / "keys.toml"
    keys.write_text('[keys.AKIA]\nsecret = "s"\nname = "ops"\nadmin = true\n')
    keys.chmod(0o600)
    for mode in (0o700, 0o775, 0o1777):
        folder.chmod(mode)
        make_policy_gate(policy, lambda _: None)
        make_key_gate(str(keys), lambda _: None)
    folder.chmod(0o777)
    with pytest.raises(PolicyInvalid, match="everybody may replace it"):
        make_policy_gate(policy, lambda _: None)
    with pytest.raises(KeysUnusable, match="everybody may replace it"):
        make_key_gate(str(keys), lambda _: None)


def test_the_policy_of_a_key_is_checked_too(tmp_path: Path) -> None:
    make_policy(tmp_path, 0o666)
    keys = tmp_path / "keys.toml"
    keys.write_text('[keys.AKIA]\nsecret = "s"\nname = "ada"\npolicy = "policy.json"\n')
    keys.chmod(0o600)
    with pytest.raises(PolicyInvalid, match="may change it"):
        make_key_gate(str(keys), lambda _: None)
