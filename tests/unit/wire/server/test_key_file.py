"""The file of access keys: its contents and permissions, and changes of it."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.errors import KeysUnusable
from keyfold.wire.server._key_file import (
    AccessKey,
    _parse,
    _write,
    changing_keys,
    make_key,
    read_keys,
    renew_key,
)
from tests.unit.wire.server.signing import block, write_keys

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
        block(
            "D", more='role = ["seller", "customer", "seller"]\nids = {user = "ada", shop = "1"}'
        ),
    )
    keys = read_keys(str(path))
    assert [(key.access_key, key.rights) for key in keys.values()] == [
        ("A", "role customer user=ada"),
        ("B", "policy b.json"),
        ("C", "admin"),
        ("D", "roles customer, seller user=ada shop=1"),
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
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path, problem in (
        (tmp_path / "absent.toml", "it cannot be read: No such file or directory. {creates}"),
        (tmp_path, "it is not a file. {name}"),
        (tmp_path / "pipe", "it is not a file. {name}"),
    ):
        with pytest.raises(KeysUnusable) as refused:
            read_keys(str(path))
        shown = problem.format(
            creates="`keyfold keys add` creates one.",
            name="Name one that `keyfold keys add` created.",
        )
        assert str(refused.value) == f"{path}: {shown} [keys-unusable]"


def test_a_long_file_is_read_to_its_end(path: Path) -> None:
    write_keys(path, *(block(f"KEY{number}") for number in range(2_000)))
    assert path.stat().st_size > 1 << 17
    assert len(read_keys(str(path))) == 2_000


# Entries of key A, and what is wrong with each of them.
ENTRIES = {
    "": "has none of role, policy and admin. Give it one of them.",
    "admin = false": "has none of role, policy and admin. Give it one of them.",
    'role = ""': "has none of role, policy and admin. Give it one of them.",
    "role = []": "has none of role, policy and admin. Give it one of them.",
    'admin = true\nrole = "x"': "has role and admin of role, policy and admin. Give it one of them.",
    'admin = true\nids = {a = "b"}': "has ids, which have no effect on an admin. Remove them.",
    'role = "x"\nids = {a = 1}': 'has ids that are not strings. Write them as ids = {user = "ada"}.',
    'role = "x"\nids = {a = ""}': 'has ids that are not strings. Write them as ids = {user = "ada"}.',
    'role = "x"\nids = "a"': "field ids is not a table of strings. Fix it.",
    "role = 1": "field role is not a string, or a list of strings. Fix it.",
    'role = ["x", 1]': "field role has something that is not a string. List the names of roles.",
    'role = ["x", ""]': "field role has something that is not a string. List the names of roles.",
    "policy = 1": "field policy is not the path of a file. Fix it.",
    'admin = "yes"': "field admin is not true or false. Fix it.",
    "admin = true\ntoken = 1": "field token is not a string. Fix it.",
    'admin = true\ntoken = "a b"': "has a token with invalid characters. Fix it.",
    "admin = true\ndisabled = 1": "field disabled is not true or false. Fix it.",
    'admin = true\ncreated = "today"': "field created is not a date with a time. Fix it.",
    "admin = true\nkey = 1\nSecret = 1": (
        "has unknown fields: Secret, key. "
        "It may have admin, created, disabled, ids, name, policy, role, secret, token."
    ),
}
ACCESS_KEYS = "An access key has up to 128 letters, digits, and _ . -"
NAMES = "A name has up to 64 letters, digits, and _ + = , . @ -"

FAULTS: list[tuple[str, str]] = [
    *((block("A", SECRET, more), f"[keys.A] {problem}") for more, problem in ENTRIES.items()),
    ("\udcff", "it is not UTF-8. Write it as TOML."),
    ("keys = 1", "it has keys beside its [keys.…] tables. Remove it."),
    ("[other]\n[more]\n", "it has 'other', 'more' beside its [keys.…] tables. Remove it."),
    ("[keys]\nA = 1", "[keys.A] is not a table. Give it a secret, a name and rights."),
    (block("a/b"), f"'a/b' is not an access key. {ACCESS_KEYS}"),
    (block(""), f"'' is not an access key. {ACCESS_KEYS}"),
    (block("x" * 129), f"'{'x' * 79} is not an access key. {ACCESS_KEYS}"),
    (block("A", ""), "[keys.A] has a secret with invalid characters. Fix it."),
    (block("A", f"{SECRET} "), "[keys.A] has a secret with invalid characters. Fix it."),
    ('[keys.A]\nname = "a"\nadmin = true', "[keys.A] has no secret. Add one."),
    ('[keys.A]\nsecret = "a"\nadmin = true', "[keys.A] has no name. Add one."),
    ('[keys.A]\nsecret = 1\nname = "a"', "[keys.A] field secret is not a string. Fix it."),
    ('[keys.A]\nsecret = "a"\nname = 1', "[keys.A] field name is not a string. Fix it."),
    (
        '[keys.A]\nsecret = "a"\nname = "a b"\nadmin = true',
        f"[keys.A] has a name that is not valid for an IAM user. {NAMES}",
    ),
]


@pytest.mark.parametrize(("content", "problem"), FAULTS)
def test_errors_say_what_is_wrong_without_secrets(path: Path, content: str, problem: str) -> None:
    path.touch(0o600)
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(KeysUnusable) as refused:
        read_keys(str(path))
    message = str(refused.value)
    assert message == f"{path}: {problem} [keys-unusable]"
    assert SECRET not in message
    assert str(pickle.loads(pickle.dumps(refused.value))) == message
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize("content", ["[keys", f'[keys.A]\nsecret = "{SECRET}', 2 * block()])
def test_a_file_that_is_not_toml_is_refused_without_its_content(path: Path, content: str) -> None:
    path.touch(0o600)
    path.write_text(content, "utf-8")
    with pytest.raises(KeysUnusable) as refused:
        read_keys(str(path))
    assert refused.value.fact.startswith("it is not TOML: ")
    assert refused.value.advice == "Fix it."
    assert SECRET not in str(refused.value)
    # The parser's error holds the whole document.
    assert refused.value.__suppress_context__


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
    assert made.created == NOW.replace(microsecond=0)
    assert list(path.parent.iterdir()) == [path], "no temporary file is left behind"


def test_a_rotated_key_has_the_same_rights() -> None:
    old = make_key("ada", has_token=True, now=NOW, roles=("customer",), ids={"user": "ada"})
    new = renew_key(old, now=NOW)
    assert (new.name, new.roles, new.ids) == (old.name, old.roles, old.ids)
    assert new.access_key.startswith("ASIA")
    assert len({old.access_key, new.access_key, old.secret, new.secret, old.token, new.token}) == 6
    later = NOW + timedelta(days=1)
    for key in (old, new, renew_key(old, now=later)):
        assert (len(key.secret), len(key.token or "")) == (40, 80)
    assert renew_key(old, now=later).created == later.replace(microsecond=0)


def test_keys_are_written_as_a_person_would(path: Path) -> None:
    made = AccessKey("AKIA.1", "s\\x", "ada", roles=("a", "b"), ids={"user": "ä\t", "x.y": '"'})
    admin = AccessKey("B", "t", "bob", is_admin=True, is_disabled=True, created=NOW)
    policy = AccessKey("C", "u", "eve", policy="eve.json", token="v")
    one = AccessKey("D", "w", "dan", roles=("a",))
    with changing_keys(str(path)) as keys:
        keys.update({each.access_key: each for each in (made, admin, policy, one)})
    heading, *blocks = path.read_text("utf-8").split("\n\n")
    assert heading.startswith("# Access keys, written by `keyfold keys`, which drops comments.")
    assert blocks == [
        (
            '[keys."AKIA.1"]\nname = "ada"\nrole = ["a", "b"]\n'
            'ids = {user = "ä\\U00000009", "x.y" = "\\""}\nsecret = "s\\\\x"'
        ),
        (
            '[keys.B]\nname = "bob"\nadmin = true\ndisabled = true\n'
            'created = 2026-11-15T12:30:15.000999+00:00\nsecret = "t"'
        ),
        '[keys.C]\nname = "eve"\npolicy = "eve.json"\nsecret = "u"\ntoken = "v"',
        '[keys.D]\nname = "dan"\nrole = "a"\nsecret = "w"\n',
    ]
    assert read_keys(str(path)) == {each.access_key: each for each in (made, admin, policy, one)}


def test_a_change_that_fails_changes_nothing(path: Path) -> None:
    write_keys(path, block())
    before = path.read_bytes()

    def add(key: AccessKey) -> None:
        with changing_keys(str(path)) as keys:
            keys[key.access_key] = key

    with pytest.raises(KeysUnusable, match="not valid for an IAM user") as raised:
        add(make_key("a b", now=NOW, is_admin=True))
    assert raised.value.path == str(path)
    with pytest.raises(KeysUnusable, match="has ids that are not strings"):
        add(make_key("a", now=NOW, roles=("x",), ids={"user": ""}))
    with pytest.raises(ZeroDivisionError), changing_keys(str(path)) as keys:
        keys[str(1 // 0)] = keys.pop("AKIDEXAMPLE")
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_folder_is_not_created(path: Path) -> None:
    missing = path.parent / "nowhere" / "keys.toml"
    with pytest.raises(KeysUnusable) as raised, changing_keys(str(missing)):
        pytest.fail("there is no folder")
    assert str(raised.value) == (
        f"{missing}: its folder cannot be opened: No such file or directory. "
        "Create the folder first. [keys-unusable]"
    )


class Killed(BaseException):
    """The process was killed: nothing else of it runs, not even a handler of errors."""


def fail_at(
    monkeypatch: pytest.MonkeyPatch, nth: int, error: Callable[[], BaseException]
) -> list[str]:
    """Let the nth of these steps fail, and if killed, all that follow; return the steps done."""
    steps: list[str] = []

    def patch(target: Any, name: str, step: str) -> None:
        actual = getattr(target, name)

        def run(*args: Any, **options: Any) -> Any:
            steps.append(step)
            failure = error()
            if len(steps) == nth or (len(steps) > nth and isinstance(failure, Killed)):
                raise failure
            return actual(*args, **options)

        monkeypatch.setattr(target, name, run)

    patch(os, "fchmod", "fchmod")
    patch(os, "fsync", "fsync")
    patch(Path, "replace", "replace")
    patch(Path, "unlink", "unlink")
    return steps


def revoke(path: Path, access_key: str) -> None:
    with changing_keys(str(path)) as keys:
        del keys[access_key]


# What a change does without a failure.
ALL_STEPS = ["fchmod", "fsync", "replace", "fsync"]


@pytest.mark.parametrize("nth", range(1, len(ALL_STEPS) + 1))
@pytest.mark.parametrize("kind", ["full", "killed"])
def test_a_failure_at_any_step_leaves_the_old_file_or_the_new_one(
    path: Path, monkeypatch: pytest.MonkeyPatch, nth: int, kind: str
) -> None:
    write_keys(path, block("A"), block("B"))
    full = OSError(28, "No space left on device")
    with monkeypatch.context() as patched:
        steps = fail_at(patched, nth, Killed if kind == "killed" else lambda: full)
        with pytest.raises(Killed if kind == "killed" else KeysUnusable) as raised:
            revoke(path, "A")
    assert steps[:nth] == ALL_STEPS[:nth]
    is_replaced = nth > ALL_STEPS.index("replace") + 1
    assert list(read_keys(str(path))) == (["B"] if is_replaced else ["A", "B"])
    if kind == "full":
        assert list(path.parent.iterdir()) == [path], "the draft is removed"
        said = (
            "it is changed, but its folder cannot be synced: No space left on device. "
            "Servers use the change; a power failure may undo it."
            if is_replaced
            else "it cannot be written: No space left on device. Nothing was changed."
        )
        assert str(raised.value) == f"{path}: {said} [keys-unusable]"
    # Whatever was left behind, the next change works, and removes it.
    revoke(path, "B")
    assert list(path.parent.iterdir()) == [path]


def test_the_steps_of_a_change_are_all_known(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_keys(path, block("A"))
    steps = fail_at(monkeypatch, 100, Killed)
    revoke(path, "A")
    assert steps == ALL_STEPS


def test_the_file_is_synced_before_it_gets_its_name(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power failure, the name would otherwise belong to an empty file."""
    write_keys(path, block("A"), block("B"))
    synced: list[int] = []
    sync = os.fsync

    def note(handle: int) -> None:
        synced.append(os.fstat(handle).st_ino)
        sync(handle)

    monkeypatch.setattr(os, "fsync", note)
    revoke(path, "A")
    assert synced == [path.stat().st_ino, path.parent.stat().st_ino]


def test_only_drafts_are_removed(path: Path) -> None:
    write_keys(path, block("A"))
    others = {
        path.with_name(name)
        for name in (".keys.toml.swp", ".keys.toml.0123456789abcdeg", "keys.toml.0123456789abcdef")
    }
    for each in others:
        each.touch()
    left = path.with_name(".keys.toml.0123456789abcdef")
    left.touch()
    stuck = path.with_name(".keys.toml.aaaaaaaaaaaaaaaa")
    stuck.mkdir()
    revoke(path, "A")
    assert {*path.parent.iterdir()} == {path, stuck, *others}


def test_a_draft_is_secret_from_its_first_byte(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_keys(path, block("A"))
    with monkeypatch.context() as patched:
        fail_at(patched, 1, Killed)
        before = os.umask(0)
        try:
            with pytest.raises(Killed):
                revoke(path, "A")
        finally:
            os.umask(before)
    (draft,) = set(path.parent.iterdir()) - {path}
    assert draft.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o700])
def test_a_changed_file_keeps_its_mode(path: Path, mode: int) -> None:
    write_keys(path, block("A"))
    path.chmod(mode)
    before = os.umask(0o377)
    try:
        revoke(path, "A")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == mode
    assert read_keys(str(path)) == {}


def test_concurrent_changes_do_not_undo_one_another(path: Path) -> None:
    old = [f"OLD{number}" for number in range(16)]
    write_keys(path, *map(block, old))
    start = threading.Barrier(4)

    def change(mine: list[str]) -> list[str]:
        added: list[str] = []
        start.wait()
        for access_key in mine:
            revoke(path, access_key)
            with changing_keys(str(path)) as keys:
                made = make_key("ada", now=NOW, is_admin=True)
                keys[made.access_key] = made
            added.append(made.access_key)
        return added

    with ThreadPoolExecutor(4) as threads:
        added = [
            each for some in threads.map(change, [old[n::4] for n in range(4)]) for each in some
        ]
    assert sorted(read_keys(str(path))) == sorted(added)


def test_readers_never_see_half_a_file(path: Path) -> None:
    write_keys(path, block("KEPT"), *(block(f"K{number}") for number in range(40)))
    is_done = threading.Event()

    def read() -> int:
        count = 0
        while not is_done.is_set():
            assert "KEPT" in read_keys(str(path))
            count += 1
        return count

    with ThreadPoolExecutor(2) as threads:
        reading = threads.submit(read)
        try:
            for number in range(40):
                revoke(path, f"K{number}")
        finally:
            is_done.set()
        assert reading.result() > 0


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
