"""The keys of a running server: how changes of their files take effect, and faults of the files."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from unittest import mock

import pytest

from keyfold.errors import KeysUnusable
from keyfold.wire.server import _keyring, _watched_files
from keyfold.wire.server._authorizers import AdminAuthorizer, Authorizer
from keyfold.wire.server._key_file import AccessKey, changing_keys, make_key
from keyfold.wire.server._keyring import GRACE_SECONDS, Keyring
from keyfold.wire.server._watched_files import find_file_state, watch_file
from tests.unit.wire.server.http import Clock
from tests.unit.wire.server.signing import admit_all, block, write_keys

NOW = datetime(2026, 11, 15, 12, 30, 15, 999, tzinfo=UTC)
SECRET, ANOTHER = "do-not-show-me", "another-secret"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.toml"


def replace_file(path: Path, *blocks: str) -> None:
    draft = path.with_name("draft")
    write_keys(draft, *blocks)
    draft.replace(path)


def test_a_change_applies_at_once(path: Path) -> None:
    write_keys(path, block("A"))
    keyring = Keyring(str(path), admit_all)
    assert keyring.find("A") is not None
    assert keyring.find("B") is None
    with changing_keys(str(path)) as keys:
        made = make_key("b", now=NOW, is_admin=True)
        keys[made.access_key] = made
    entry = keyring.find(made.access_key)
    assert entry is not None
    assert entry.key == made
    with changing_keys(str(path)) as keys:
        del keys["A"]
    assert keyring.find("A") is None
    assert keyring.find(made.access_key) is not None


def test_a_disabled_key_is_not_found(path: Path) -> None:
    write_keys(path, block("A"))
    keyring = Keyring(str(path), admit_all)
    assert keyring.find("A") is not None
    path.write_text(block("A", more="admin = true\ndisabled = true"), "utf-8")
    assert keyring.find("A") is None


def spoil(path: Path, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a file of keys unusable."""
    match fault:
        case "malformed":
            path.write_text(f'[keys.A]\nsecret = "{SECRET}', "utf-8")
        case "loose":
            path.chmod(0o644)
        case "gone":
            path.unlink()
        case _:
            owner = os.geteuid()
            monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
            path.write_text(block("A"), "utf-8")


def finds(keyring: Keyring[Authorizer], *access_keys: str) -> list[str]:
    """Return which of some keys are found."""
    return [each for each in access_keys if keyring.find(each) is not None]


@pytest.mark.parametrize("fault", ["malformed", "loose", "gone", "taken"])
def test_keys_of_a_file_that_becomes_unusable_are_refused_after_a_grace(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    write_keys(path, block("A", SECRET), block("B", SECRET))
    time = Clock()
    keyring = Keyring(str(path), admit_all, monotonic=time)
    keyring.note_use("A")
    spoil(path, fault, monkeypatch)
    caplog.clear()
    # Keys in use go on for a while; others are refused at once, and so are unknown ones.
    assert finds(keyring, "A", "B", "C") == ["A"]
    assert [keyring.find_fault(each) is None for each in "ABC"] == [False] * 3
    time.now += GRACE_SECONDS - 0.1
    assert finds(keyring, "A", "B", "C") == ["A"]
    time.now += 0.1
    assert finds(keyring, "A", "B", "C") == []
    assert str(keyring.find_fault("A")) == (
        f"{path}: it has become unusable. The log says why. [keys-unusable]"
    )
    first, last = caplog.records
    assert (first.name, first.levelname) == ("keyfold.server", "ERROR")
    assert first.getMessage().startswith(str(path))
    assert first.getMessage().endswith(
        "[keys-unusable] Keys that were in use are accepted for 30 seconds, no others."
    )
    assert (last.name, last.levelname) == ("keyfold.server", "CRITICAL")
    assert last.getMessage().endswith("[keys-unusable] Its keys are refused until it is usable.")
    assert SECRET not in caplog.text
    # As soon as the file is usable again, everything is as before.
    monkeypatch.undo()
    replace_file(path, block("A", SECRET), block("B", SECRET))
    assert finds(keyring, "A", "B", "C") == ["A", "B"]
    assert keyring.find_fault("C") is None
    assert caplog.records[-1].getMessage() == f"{path}: it is usable again."
    # The next fault has a grace of its own.
    path.unlink()
    time.now += 100 * GRACE_SECONDS
    assert finds(keyring, "A", "B") == ["A"]


def test_a_key_stays_in_use_while_the_file_has_it(path: Path) -> None:
    write_keys(path, block("A"), block("B"), block("C"))
    keyring = Keyring(str(path), admit_all)
    for each in "ABC":
        keyring.note_use(each)
    replace_file(path, block("A", ANOTHER), block("B", more="admin = true\ndisabled = true"))
    assert finds(keyring, "A", "B", "C") == ["A"]
    replace_file(path, block("A"), block("B"), block("C"))
    assert finds(keyring, "A", "B", "C") == ["A", "B", "C"]
    path.unlink()
    assert finds(keyring, "A", "B", "C") == ["A"], "B and C were revoked in between"


def test_a_key_that_is_not_in_the_file_cannot_be_in_use(path: Path) -> None:
    write_keys(path, block("A"))
    keyring = Keyring(str(path), admit_all)
    keyring.note_use("B")
    replace_file(path, block("A"), block("B"))
    assert finds(keyring, "B") == ["B"]
    path.unlink()
    assert finds(keyring, "B") == []


def test_a_fault_is_noticed_without_requests(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_keys(path, block("A"))
    time = Clock()
    keyring = Keyring(str(path), admit_all, monotonic=time)
    keyring.note_use("A")
    path.unlink()
    keyring.check()
    time.now += GRACE_SECONDS
    assert finds(keyring, "A") == []
    assert [each.levelname for each in caplog.records] == ["ERROR", "CRITICAL"]


def test_a_lasting_fault_is_logged_once_a_minute(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_keys(path, block("A"))
    time = Clock()
    keyring = Keyring(str(path), admit_all, monotonic=time)
    path.unlink()
    for _ in range(600):
        for _ in range(10):
            keyring.find("A")
        time.now += 1
    # At once, after the grace, and then every minute.
    assert len(caplog.records) == 2 + (600 - 31) // 60
    caplog.clear()
    # Another error is logged at once, but not more than once a second.
    for number in range(50):
        path.touch(0o600)
        path.write_text(f"x{number} = 1", "utf-8")
        keyring.find("A")
    assert len(caplog.records) == 1
    time.now += 1
    keyring.check()
    assert "'x49'" in caplog.records[-1].getMessage()


def test_a_file_that_cannot_be_opened_for_a_while_is_read_without_a_change(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_keys(path, block("A"), block("B"))
    time = Clock()
    keyring = Keyring(str(path), admit_all, monotonic=time, clock=lambda: inf)
    revoke = path.with_name("without-a")
    write_keys(revoke, block("B"))

    def fail(*_: object) -> int:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", fail)
        revoke.replace(path)
        assert finds(keyring, "A", "B") == []
    with mock.patch.object(_keyring, "watch_file", wraps=watch_file) as watch:
        for _ in range(3):
            assert finds(keyring, "A", "B") == []
        assert watch.call_count == 0, "it is tried once a second"
        time.now += 1
        assert finds(keyring, "A", "B") == ["B"]
        assert watch.call_count == 1
        time.now += 100
        assert finds(keyring, "A", "B") == ["B"]
        assert watch.call_count == 1, "a file that is usable is only looked at"


def set_in_place(path: Path, content: str) -> None:
    """Change a file without a trace in its inode, size or time of modification."""
    before = path.stat()
    path.write_text(content, "utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (before.st_ino, before.st_size, before.st_mtime_ns) == (
        after.st_ino,
        after.st_size,
        after.st_mtime_ns,
    )


def test_a_change_within_the_size_and_time_of_modification_is_noticed(path: Path) -> None:
    write_keys(path, block("A"), block("B"))
    keyring = Keyring(str(path), admit_all, clock=lambda: inf)
    assert finds(keyring, "A", "B", "C") == ["A", "B"]
    before = path.stat().st_ctime_ns
    set_in_place(path, path.read_text("utf-8").replace('"A"', '"C"'))
    while path.stat().st_ctime_ns == before:
        # The times of a file have steps.
        path.chmod(0o600)
    assert finds(keyring, "A", "B", "C") == ["B", "C"]


def test_a_change_without_any_trace_is_noticed_while_the_file_is_new(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two changes within one step of the file system's clock have the same time."""
    write_keys(path, block("A"), block("B"))
    state = _watched_files.find_file_state(str(path))
    assert state is not None

    def find_same(_: str) -> _watched_files.FileState:
        return state

    for each in (_watched_files, _keyring):
        monkeypatch.setattr(each, "find_file_state", find_same)
    now = Clock()
    now.now = state[3] / 1e9
    keyring = Keyring(str(path), admit_all, clock=now)
    set_in_place(path, path.read_text("utf-8").replace('"A"', '"C"'))
    assert finds(keyring, "A", "B", "C") == ["B", "C"]
    now.now += 1.9
    set_in_place(path, path.read_text("utf-8").replace('"C"', '"A"'))
    assert finds(keyring, "A", "B", "C") == ["A", "B"]
    # After that, the state is trusted, and the file is not read for each request.
    now.now += 0.2
    assert finds(keyring, "A", "B") == ["A", "B"]
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", None)
        assert finds(keyring, "A", "B") == ["A", "B"]


def test_the_file_must_be_usable_at_the_start(path: Path) -> None:
    with pytest.raises(KeysUnusable, match="No such file"):
        Keyring(str(path), admit_all)


def refuse_roles(key: AccessKey, policy: str | None) -> Authorizer:
    if key.roles:
        raise KeysUnusable(str(policy), f"it has role {key.roles[0]}", "Fix it.")
    return AdminAuthorizer()


def test_every_key_must_be_usable_at_the_start(path: Path) -> None:
    write_keys(path, block("A"), block("B", more='role = "x"'))
    with pytest.raises(KeysUnusable, match="it has role x"):
        Keyring(str(path), refuse_roles)


def test_a_key_without_usable_rights_does_not_affect_the_others(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_keys(path, block("A"))
    keyring = Keyring(str(path), refuse_roles)
    disabled = block("C", more="admin = true\ndisabled = true")
    replace_file(path, block("B", SECRET, 'role = "x"'), disabled, block("A"), block("D"))
    assert finds(keyring, "A", "B", "C", "D") == ["A", "D"]
    assert keyring.find_fault("B") is None
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert record.getMessage() == (
        "None: it has role x. Fix it. [keys-unusable] "
        "Until then, requests with this key are refused."
    )


def test_one_check_serves_for_all_calls_that_share_it(path: Path) -> None:
    write_keys(path, block("A"), block("B"))
    keyring = Keyring(str(path), admit_all, clock=lambda: inf)
    with mock.patch.object(_keyring, "find_file_state", wraps=find_file_state) as check:

        def count(*access_keys: str, is_shared: bool) -> int:
            check.reset_mock()
            for each in access_keys:
                assert keyring.find(each, is_shared=is_shared) is not None
            return check.call_count

        assert count("A", "B", "A", is_shared=False) == 3
        # Of each key, since the files of another one may be others.
        assert count("A", "B", "A", "B", "A", is_shared=True) == 2
        assert count("A", "B", is_shared=True) == 0
        assert count("A", is_shared=False) == 1
        keyring.end_sharing()
        assert count("A", "A", is_shared=True) == 1


def test_the_rights_of_a_key_are_prepared_once(path: Path) -> None:
    write_keys(path, block("A", more='policy = "some/policy.json"'))
    seen: list[tuple[str, str | None]] = []

    def prepare(key: AccessKey, policy: str | None) -> Authorizer:
        seen.append((key.name, policy))
        return AdminAuthorizer()

    keyring = Keyring(str(path), prepare)
    for _ in range(3):
        keyring.find("A")
    assert seen == [("ada", str(path.parent / "some" / "policy.json"))]


def test_a_changed_policy_is_read_again(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    policy = path.with_name("policy.json")
    policy.write_text("1", "utf-8")
    write_keys(path, block("A", more='policy = "policy.json"'), block("B"))
    read: list[str] = []

    class Named(AdminAuthorizer):
        def __init__(self, text: str) -> None:
            self.text = text

    def prepare(key: AccessKey, where: str | None) -> Authorizer:
        if where is None:
            return AdminAuthorizer()
        text = Path(where).read_text("utf-8")
        read.append(text)
        if text == "bad":
            raise KeysUnusable(where, "it is bad", "Fix it.")
        return Named(text)

    def text_of() -> str | None:
        entry = keyring.find("A")
        if entry is None:
            return None
        assert isinstance(entry.prepared, Named)
        return entry.prepared.text

    time = Clock()
    keyring = Keyring(str(path), prepare, monotonic=time)
    assert text_of() == "1"
    keyring.note_use("A")
    policy.write_text("22", "utf-8")
    assert text_of() == "22"
    policy.write_text("bad", "utf-8")
    # The key keeps its previous rights for a while; changes to other keys still apply.
    assert text_of() == "22"
    assert keyring.find("B") is not None
    assert f"{policy}: it is bad." in caplog.text
    with changing_keys(str(path)) as keys:
        del keys["B"]
    assert (text_of(), keyring.find("B")) == ("22", None)
    assert keyring.find_fault("B") is None
    time.now += GRACE_SECONDS
    assert text_of() is None
    assert keyring.find_fault("A") is not None
    policy.write_text("333", "utf-8")
    assert text_of() == "333"
    # A key that is newly given an invalid policy is refused.
    policy.write_text("bad", "utf-8")
    replace_file(path, block("A", SECRET, 'policy = "policy.json"'))
    assert text_of() is None
    policy.write_text("4444", "utf-8")
    assert text_of() == "4444"
    assert SECRET not in caplog.text


def test_a_pipe_in_place_of_a_file_is_neither_read_nor_waited_for(path: Path) -> None:
    os.mkfifo(path, 0o600)
    watched = watch_file(str(path), inf)
    assert watched.fingerprint is None
    assert watched.state == find_file_state(str(path)) is not None


def test_a_file_that_is_not_there_has_neither_state_nor_fingerprint(path: Path) -> None:
    watched = watch_file(str(path), 0.0)
    assert (watched.path, watched.state, watched.fingerprint) == (str(path), None, None)
