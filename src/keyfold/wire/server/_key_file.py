"""The file of access keys: the principals that may sign requests, and their rights.

    [keys.AKIA5EXAMPLE]
    secret = "…"
    name = "ada"
    role = "customer"
    ids = {user = "ada"}

A key has one of `role`, `policy` (the path of an IAM document) and `admin = true`. Several roles
are a list: `role = ["customer", "seller"]`. A signature can only be verified with the secret
itself, so the file has to belong to the user that runs the server, and nobody else may read it.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import tomllib
from base64 import b32encode
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from keyfold.errors import KeysUnusable

_SECRET_MODE = 0o600
_OTHERS = 0o077
_READ_BYTES = 1 << 16
_DRAFT_BYTES = 8
_HEX = frozenset("0123456789abcdef")

_ACCESS_KEY = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PRINTED = re.compile(r"[!-~]+")
_NAME = re.compile(r"[A-Za-z0-9_+=,.@-]{1,64}")
_RIGHTS = ("role", "policy", "admin")
_FIELDS = frozenset((*_RIGHTS, "secret", "name", "ids", "token", "disabled", "created"))

_HEADING = (
    "# Access keys, written by `keyfold keys`, which drops comments. Keep this file secret.\n"
)


@dataclass(frozen=True, slots=True)
class AccessKey:
    """An access key, its secret, and the principal and rights of requests signed with it."""

    access_key: str
    secret: str = field(repr=False)
    name: str
    roles: tuple[str, ...] = ()
    policy: str | None = None
    is_admin: bool = False
    ids: Mapping[str, str] = field(default_factory=dict[str, str])
    token: str | None = field(default=None, repr=False)
    is_disabled: bool = False
    created: datetime | None = None

    @property
    def rights(self) -> str:
        """A short description of the key's rights."""
        ids = "".join(f" {name}={value}" for name, value in self.ids.items())
        if self.is_admin:
            return "admin"
        if self.policy is not None:
            return f"policy {self.policy}{ids}"
        return f"{'role' if len(self.roles) == 1 else 'roles'} {', '.join(self.roles)}{ids}"


def make_key(name: str, *, has_token: bool = False, now: datetime, **rights: Any) -> AccessKey:
    """Return a new key with a random secret."""
    # AWS's prefixes of temporary keys, which have a session token, and of long-term keys.
    kind = "ASIA" if has_token else "AKIA"
    return AccessKey(
        kind + b32encode(os.urandom(10)).decode(),
        secrets.token_urlsafe(30),
        name,
        token=secrets.token_urlsafe(60) if has_token else None,
        created=now.replace(microsecond=0),
        **rights,
    )


def renew_key(key: AccessKey, *, now: datetime) -> AccessKey:
    """Return a new key for the same principal, with the same rights."""
    new = make_key(key.name, has_token=key.token is not None, now=now)
    return replace(
        key,
        access_key=new.access_key,
        secret=new.secret,
        token=new.token,
        created=new.created,
    )


def read_keys(path: str) -> dict[str, AccessKey]:
    """Return the keys of a file, by access key; raises KeysUnusable.

    It raises if other users can access the file, too.
    """
    try:
        # Non-blocking, since it may be a pipe.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            # Of the open file: the path may already name another one.
            _check_access(path, os.fstat(handle))
            content = b"".join(iter(lambda: os.read(handle, _READ_BYTES), b""))
        finally:
            os.close(handle)
    except OSError as error:
        fact = f"it cannot be read: {error.strerror or error}"
        raise KeysUnusable(path, fact, "`keyfold keys add` creates one.") from None
    return _parse(path, content)


def _check_access(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise KeysUnusable(path, "it is not a file", "Name one that `keyfold keys add` created.")
    if status.st_uid != os.geteuid():
        fact = f"it belongs to user {status.st_uid}, but this is user {os.geteuid()}"
        raise KeysUnusable(path, fact, f"Run `chown {os.geteuid()} {path}`.")
    if status.st_mode & _OTHERS:
        fact = f"users other than its owner may access it (mode {stat.S_IMODE(status.st_mode):04o})"
        raise KeysUnusable(path, fact, f"Run `chmod 600 {path}`.")


def _parse(path: str, content: bytes) -> dict[str, AccessKey]:
    try:
        read: dict[str, Any] = tomllib.loads(content.decode())
    except UnicodeDecodeError:
        raise KeysUnusable(path, "it is not UTF-8", "Write it as TOML.") from None
    except tomllib.TOMLDecodeError as error:
        # `from None`: the message says what is wrong and where, but the error object holds the
        # whole document.
        raise KeysUnusable(path, f"it is not TOML: {error}", "Fix it.") from None
    entries = read.pop("keys", {})
    if read or not isinstance(entries, dict):
        fact = f"it has {', '.join(map(repr, read)) or 'keys'} beside its [keys.…] tables"
        raise KeysUnusable(path, fact, "Remove it.")
    return {
        access_key: _parse_key(path, access_key, entry)
        for access_key, entry in cast(dict[str, Any], entries).items()
    }


def _parse_key(path: str, access_key: str, entry: Any) -> AccessKey:
    """Return the key that an entry describes. Error messages show none of its values."""

    def refuse(fact: str, advice: str) -> KeysUnusable:
        return KeysUnusable(path, f"[keys.{access_key}] {fact}", advice)

    if _ACCESS_KEY.fullmatch(access_key) is None:
        raise KeysUnusable(
            path,
            f"{access_key!r:.80} is not an access key",
            "An access key has up to 128 letters, digits, and _ . -",
        )
    if not isinstance(entry, dict):
        raise refuse("is not a table", "Give it a secret, a name and rights.")
    given = cast(dict[str, Any], entry)
    unknown = sorted(given.keys() - _FIELDS)
    if unknown:
        fact = f"has unknown fields: {', '.join(unknown)}"
        raise refuse(fact, f"It may have {', '.join(sorted(_FIELDS))}.")
    for name, kind, expected in (
        ("secret", str, "a string"),
        ("name", str, "a string"),
        ("role", (str, list), "a string, or a list of strings"),
        ("policy", str, "the path of a file"),
        ("token", str, "a string"),
        ("admin", bool, "true or false"),
        ("disabled", bool, "true or false"),
        ("ids", dict, "a table of strings"),
        ("created", datetime, "a date with a time"),
    ):
        if name in given and not isinstance(given[name], kind):
            raise refuse(f"field {name} is not {expected}", "Fix it.")
    for name in ("secret", "token"):
        if name in given and _PRINTED.fullmatch(given[name]) is None:
            raise refuse(f"has a {name} with invalid characters", "Fix it.")
    for name in ("secret", "name"):
        if name not in given:
            raise refuse(f"has no {name}", "Add one.")
    if _NAME.fullmatch(given["name"]) is None:
        fact = "has a name that is not valid for an IAM user"
        raise refuse(fact, "A name has up to 64 letters, digits, and _ + = , . @ -")
    rights = [name for name in _RIGHTS if given.get(name)]
    if len(rights) != 1:
        got = " and ".join(rights) or "none"
        raise refuse(f"has {got} of role, policy and admin", "Give it one of them.")
    ids = cast(dict[str, Any], given.get("ids", {}))
    if not all(isinstance(value, str) and value for value in ids.values()):
        raise refuse("has ids that are not strings", 'Write them as ids = {user = "ada"}.')
    if ids and rights == ["admin"]:
        raise refuse("has ids, which have no effect on an admin", "Remove them.")
    roles = _parse_roles(given.get("role", []))
    if roles is None:
        raise refuse("field role has something that is not a string", "List the names of roles.")
    return AccessKey(
        access_key,
        given["secret"],
        given["name"],
        roles=roles,
        policy=given.get("policy"),
        is_admin=given.get("admin", False),
        ids=ids,
        token=given.get("token"),
        is_disabled=given.get("disabled", False),
        created=given.get("created"),
    )


def _parse_roles(given: str | list[Any]) -> tuple[str, ...] | None:
    """Return the roles of a key, in a fixed order; None if one is not a string."""
    names = [given] if isinstance(given, str) else given
    if not all(isinstance(name, str) and name for name in names):
        return None
    return tuple(sorted(set(names)))


@contextmanager
def changing_keys(path: str) -> Generator[dict[str, AccessKey]]:
    """Yield the keys of a file for changes, and write them back atomically.

    A lock keeps other processes from changing them meanwhile. A missing file is created. Raises
    KeysUnusable.
    """
    # Imported here: some systems do not have it, and only changing files needs it.
    import fcntl  # noqa: PLC0415

    # If the path is a symbolic link, its target is replaced, and not the link.
    target = Path(path).resolve()
    try:
        folder = os.open(target.parent, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        fact = f"its folder cannot be opened: {error.strerror or error}"
        raise KeysUnusable(path, fact, "Create the folder first.") from None
    try:
        # The lock is on the folder, which stays when the file is replaced.
        fcntl.flock(folder, fcntl.LOCK_EX)
        keys = read_keys(path) if os.path.lexists(target) else {}
        yield keys
        content = _write(keys).encode(errors="replace")
        # Nothing is written that could not be read back.
        written = _parse(path, content)
        assert written.keys() == keys.keys()
        try:
            _replace(target, content)
        except OSError as error:
            fact = f"it cannot be written: {error.strerror or error}"
            raise KeysUnusable(path, fact, "Nothing was changed.") from None
        try:
            os.fsync(folder)
        except OSError as error:
            fact = f"it is changed, but its folder cannot be synced: {error.strerror or error}"
            advice = "Servers use the change; a power failure may undo it."
            raise KeysUnusable(path, fact, advice) from None
    finally:
        os.close(folder)


def _replace(target: Path, content: bytes) -> None:
    """Replace a file atomically, also in case of a crash. It keeps its mode; a new one gets 600.

    The caller holds the lock.
    """
    _remove_drafts(target)
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mode = _SECRET_MODE
    draft = target.with_name(f".{target.name}.{secrets.token_hex(_DRAFT_BYTES)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _SECRET_MODE)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123 - a file descriptor
            file.write(content)
            file.flush()
            # Whatever the umask is.
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def _remove_drafts(target: Path) -> None:
    """Remove the drafts of processes that were killed: they hold secrets."""
    start = f".{target.name}."
    for each in list(target.parent.iterdir()):
        number = each.name.removeprefix(start)
        if (
            each.name == start + number
            and len(number) == 2 * _DRAFT_BYTES
            and _HEX.issuperset(number)
        ):
            with suppress(OSError):
                each.unlink()


def _write(keys: Mapping[str, AccessKey]) -> str:
    blocks = [_HEADING]
    for key in keys.values():
        lines = [f"[keys.{_name(key.access_key)}]", f"name = {_quote(key.name)}"]
        if key.is_admin:
            lines.append("admin = true")
        if key.roles:
            roles = ", ".join(map(_quote, key.roles))
            lines.append(f"role = {roles if len(key.roles) == 1 else f'[{roles}]'}")
        if key.policy is not None:
            lines.append(f"policy = {_quote(key.policy)}")
        if key.ids:
            pairs = (f"{_name(name)} = {_quote(value)}" for name, value in key.ids.items())
            lines.append(f"ids = {{{', '.join(pairs)}}}")
        if key.is_disabled:
            lines.append("disabled = true")
        if key.created is not None:
            lines.append(f"created = {key.created.isoformat()}")
        lines.append(f"secret = {_quote(key.secret)}")
        if key.token is not None:
            lines.append(f"token = {_quote(key.token)}")
        blocks.append("\n".join((*lines, "")))
    return "\n".join(blocks)


def _name(text: str) -> str:
    return text if _BARE.fullmatch(text) else _quote(text)


def _quote(text: str) -> str:
    """Return a text as a TOML string, with special characters escaped."""
    shown = (
        f"\\{each}" if each in '"\\' else each if each.isprintable() else f"\\U{ord(each):08X}"
        for each in text
    )
    return f'"{"".join(shown)}"'
