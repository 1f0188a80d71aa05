"""The access keys file: its contents and permissions, and how changes to it take effect."""

from __future__ import annotations

import logging
import os
import pickle
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.errors import KeysUnusable
from keyfold.wire.server._authorizers import AdminAuthorizer, Authorizer
from keyfold.wire.server._keyring import (
    AccessKey,
    Keyring,
    _parse,
    _write,
    changing_keys,
    make_key,
    read_keys,
    renew_key,
)
from tests.unit.wire.server.signing import admit_all, block, write_keys

NOW = datetime(2026, 11, 15, 12, 30, 15, 999, tzinfo=UTC)
SECRET = "do-not-show-me"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.toml"


def test_a_file_maps_keys_to_principals(path: Path) -> None:
    write_keys(
        path,
        block("A", more='role = "customer"\nids = {user = "ada"}'),
        block("B", more='policy = "b.json"\ntoken = "t"\ndisabled = true'),
        block("C"),
        block("D", more='role = ["seller", "customer", "seller"]\nids = {user = "ada"}'),
    )
    keys = read_keys(str(path))
    assert [(key.access_key, key.rights) for key in keys.values()] == [
        ("A", "role customer user=ada"),
        ("B", "policy b.json"),
        ("C", "admin"),
        ("D", "roles customer, seller user=ada"),
    ]
    assert (keys["B"].token, keys["B"].is_disabled) == ("t", True)


def test_secrets_are_not_shown(path: Path) -> None:
    key = make_key("ada", has_token=True, now=NOW, is_admin=True)
    assert key.token is not None
    for shown in (repr(key), str(key), f"{key}", key.rights):
        assert key.secret not in shown
        assert key.token not in shown


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620, 0o602, 0o666, 0o601])
def test_a_file_that_others_can_access_is_refused(path: Path, mode: int) -> None:
    write_keys(path, block())
    path.chmod(mode)
    with pytest.raises(KeysUnusable) as refused:
        read_keys(str(path))
    assert str(refused.value) == (
        f"{path}: users other than its owner may access it (mode {mode:04o}). "
        f"Run `chmod 600 {path}`. [keys-unusable]"
    )
    with pytest.raises(KeysUnusable), changing_keys(str(path)):
        pass
    path.chmod(0o400)
    assert len(read_keys(str(path))) == 1


def test_a_file_of_another_owner_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_keys(path, block())
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(KeysUnusable, match=f"it belongs to user {owner}, but this is user") as no:
        read_keys(str(path))
    assert f"chown {owner + 1} {path}" in no.value.advice


def test_missing_files_and_other_kinds_of_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(KeysUnusable, match="cannot be read: No such file"):
        read_keys(str(tmp_path / "absent.toml"))
    with pytest.raises(KeysUnusable, match="it is not a file"):
        read_keys(str(tmp_path))
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(KeysUnusable, match="it is not a file"):
        read_keys(str(tmp_path / "pipe"))


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        (b"\xff", "it is not UTF-8"),
        (b"[keys", "it is not TOML: "),
        (f'[keys.A]\nsecret = "{SECRET}'.encode(), "it is not TOML: "),
        (block().encode() + block().encode(), "it is not TOML: "),
        (b"keys = 1", "it has keys beside"),
        (b"[other]\n", "it has 'other' beside"),
        (b"[keys]\nA = 1", "[keys.A] is not a table"),
        (block("a/b").encode(), "'a/b' is not an access key"),
        (block("").encode(), "'' is not an access key"),
        (block("A", SECRET, "").encode(), "[keys.A] has none of role, policy and admin"),
        (block("A", SECRET, "admin = false").encode(), "has none of role, policy"),
        (block("A", SECRET, 'admin = true\nrole = "x"').encode(), "has role and admin of"),
        (block("A", SECRET, 'admin = true\nids = {a = "b"}').encode(), "no effect on an admin"),
        (block("A", SECRET, 'role = "x"\nids = {a = 1}').encode(), "has ids that are not strings"),
        (block("A", SECRET, 'role = "x"\nids = {a = ""}').encode(), "has ids that are not strings"),
        (
            block("A", SECRET, 'role = "x"\nids = "a"').encode(),
            "field ids is not a table of strings",
        ),
        (block("A", SECRET, "role = 1").encode(), "field role is not a string, or a list"),
        (block("A", SECRET, "role = []").encode(), "has none of role, policy and admin"),
        (block("A", SECRET, 'role = ["x", 1]').encode(), "field role has something that is not"),
        (block("A", SECRET, 'admin = "yes"').encode(), "field admin is not true or false"),
        (
            block("A", SECRET, "admin = true\nsecrets = 1").encode(),
            "[keys.A] has unknown fields: secrets",
        ),
        (block("A", "").encode(), "has a secret with invalid characters"),
        (block("A", SECRET + " ").encode(), "has a secret with invalid characters"),
        (b'[keys.A]\nname = "a"\nadmin = true', "[keys.A] has no secret"),
        (b'[keys.A]\nsecret = "a"\nadmin = true', "[keys.A] has no name"),
        (b'[keys.A]\nsecret = 1\nname = "a"\nadmin = true', "field secret is not a string"),
        (
            b'[keys.A]\nsecret = "a"\nname = "a b"\nadmin = true',
            "has a name that is not valid for an IAM user",
        ),
    ],
)
def test_errors_say_what_is_wrong_without_secrets(path: Path, content: bytes, fact: str) -> None:
    path.touch(0o600)
    path.write_bytes(content)
    with pytest.raises(KeysUnusable) as refused:
        read_keys(str(path))
    message = str(refused.value)
    assert fact in message
    assert message.startswith(str(path))
    assert SECRET not in message
    assert str(pickle.loads(pickle.dumps(refused.value))) == message
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


# Changing the file.


def test_a_key_is_added_to_a_file_that_only_its_owner_can_read(path: Path) -> None:
    previous = os.umask(0)
    try:
        with changing_keys(str(path)) as keys:
            made = make_key("ada", now=NOW, roles=("customer",), ids={"user": "ada"})
            keys[made.access_key] = made
    finally:
        os.umask(previous)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_keys(str(path)) == {made.access_key: made}
    assert made.access_key.startswith("AKIA")
    assert (len(made.access_key), len(made.secret), made.token) == (20, 40, None)
    assert list(path.parent.iterdir()) == [path], "no temporary file is left behind"


def test_a_rotated_key_has_the_same_rights() -> None:
    old = make_key("ada", has_token=True, now=NOW, roles=("customer",), ids={"user": "ada"})
    new = renew_key(old, now=NOW)
    assert (new.name, new.roles, new.ids) == (old.name, old.roles, old.ids)
    assert new.access_key.startswith("ASIA")
    assert len({old.access_key, new.access_key, old.secret, new.secret, old.token, new.token}) == 6


def test_a_change_that_fails_changes_nothing(path: Path) -> None:
    write_keys(path, block())
    before = path.read_bytes()

    def add(key: AccessKey) -> None:
        with changing_keys(str(path)) as keys:
            keys[key.access_key] = key

    with pytest.raises(KeysUnusable, match="not valid for an IAM user"):
        add(make_key("a b", now=NOW, is_admin=True))
    with pytest.raises(KeysUnusable, match="has ids that are not strings"):
        add(make_key("a", now=NOW, roles=("x",), ids={"user": ""}))
    with pytest.raises(ZeroDivisionError), changing_keys(str(path)) as keys:
        keys[str(1 // 0)] = keys.pop("AKIDEXAMPLE")
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_crash_while_writing_leaves_the_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_keys(path, block())

    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with (
        pytest.raises(KeysUnusable, match="cannot be written: No space left on device"),
        changing_keys(str(path)) as keys,
    ):
        keys.clear()
    assert len(read_keys(str(path))) == 1
    assert list(path.parent.iterdir()) == [path]


def test_a_symbolic_link_to_the_file_stays_a_link(path: Path) -> None:
    write_keys(path, block())
    link = path.with_name("link.toml")
    link.symlink_to(path)
    with changing_keys(str(link)) as keys:
        keys.clear()
    assert link.is_symlink()
    assert read_keys(str(path)) == {}


texts = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20)


@given(
    st.lists(
        st.builds(
            AccessKey,
            access_key=st.from_regex(r"[A-Za-z0-9_.-]{1,20}", fullmatch=True),
            secret=st.from_regex(r"[!-~]{1,20}", fullmatch=True),
            name=st.from_regex(r"[A-Za-z0-9_+=,.@-]{1,20}", fullmatch=True),
            roles=st.sets(texts, min_size=1, max_size=3).map(lambda names: tuple(sorted(names))),
            policy=st.none(),
            is_admin=st.just(False),
            ids=st.dictionaries(texts, texts, max_size=3),
            token=st.none() | st.from_regex(r"[!-~]{1,20}", fullmatch=True),
            is_disabled=st.booleans(),
            created=st.none() | st.datetimes(timezones=st.just(UTC)),
        ),
        max_size=3,
    )
)
def test_written_keys_can_be_read_again(made: list[AccessKey]) -> None:
    keys = {key.access_key: key for key in made}
    assert _parse("keys.toml", _write(keys).encode()) == keys


# Using the file.


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


@pytest.mark.parametrize("fault", ["malformed", "loose", "gone", "taken"])
def test_a_file_that_becomes_unusable_leaves_the_previous_keys_in_use(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    write_keys(path, block("A", SECRET))
    keyring = Keyring(str(path), admit_all)
    owner = os.geteuid()
    match fault:
        case "malformed":
            path.write_text(f'[keys.A]\nsecret = "{SECRET}', "utf-8")
        case "loose":
            path.chmod(0o644)
        case "gone":
            path.unlink()
        case _:
            monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
            os.utime(path, (1, 1))
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            assert keyring.find("A") is not None
    (record,) = caplog.records
    assert record.name == "keyfold.server"
    assert record.getMessage().endswith("[keys-unusable] The previous keys stay in use.")
    assert SECRET not in record.getMessage()
    monkeypatch.undo()
    # As soon as the file is usable again, it is read.
    replace_file(path, block("B"))
    assert keyring.find("A") is None
    assert keyring.find("B") is not None


def test_the_file_must_be_usable_at_the_start(path: Path) -> None:
    with pytest.raises(KeysUnusable, match="No such file"):
        Keyring(str(path), admit_all)


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
        assert isinstance(entry.authorizer, Named)
        return entry.authorizer.text

    keyring = Keyring(str(path), prepare)
    assert text_of() == "1"
    policy.write_text("22", "utf-8")
    assert text_of() == "22"
    policy.write_text("bad", "utf-8")
    # The key keeps its previous rights; changes to other keys still apply.
    assert text_of() == "22"
    assert "The previous rights of the key stay in use." in caplog.text
    with changing_keys(str(path)) as keys:
        del keys["B"]
    assert (text_of(), keyring.find("B")) == ("22", None)
    # A key that is newly given an invalid policy is refused.
    replace_file(path, block("A", SECRET, 'policy = "policy.json"'))
    assert text_of() is None
    assert "Until then, requests with this key are refused." in caplog.text
    policy.write_text("4444", "utf-8")
    assert text_of() == "4444"
    assert SECRET not in caplog.text
