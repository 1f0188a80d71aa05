"""The file that says who may call a service: `keyfold api --auth FILE`.

    keys = "keys.toml"

    [limits]
    units_per_second = 50
    burst_units = 500

    [issuers.login]
    issuer = "https://login.example/"
    audience = "market"
    algorithms = ["RS256"]
    jwks_url = "https://login.example/.well-known/jwks.json"
    role = "customer"
    ids = {user = "sub"}

Paths are relative to the file. It grants rights, so it is refused if others may write it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from keyfold.errors import AuthFileInvalid, OptionInvalid
from keyfold.service._claims import ClaimMapping, ClaimPath
from keyfold.service._jwks import KEY_KINDS
from keyfold.service._key_rotation import (
    JwksFile,
    JwksUrl,
    RotationTimes,
    is_safe_url,
)
from keyfold.service._rate_limits import RateLimit
from keyfold.wire.server._file_access import read_trusted

_TOP = frozenset({"keys", "limits", "issuers"})
_LIMITS = frozenset({"units_per_second", "burst_units"})
_ISSUER = frozenset(
    (
        *("issuer", "audience", "algorithms", "jwks_url", "jwks_file"),
        *("role", "role_claim", "roles", "ids"),
        *("leeway_seconds", "refresh_seconds", "grace_seconds"),
    )
)
_FILE_TIMES = RotationTimes(refresh_seconds=5.0, retry_seconds=1.0, grace_seconds=30.0)
_URL_TIMES = RotationTimes()
_MOST_LEEWAY_SECONDS = 300.0
_MOST_SECONDS = 86_400.0
_LEEWAY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class IssuerSettings:
    """What the file says of one issuer of tokens."""

    name: str
    issuer: str
    audiences: frozenset[str]
    algorithms: frozenset[str]
    source: JwksUrl | JwksFile
    times: RotationTimes
    mapping: ClaimMapping
    leeway_seconds: float


@dataclass(frozen=True, slots=True)
class AuthFile:
    """What the file says; `keys` is the path of the file of API keys."""

    path: str
    keys: str | None
    limit: RateLimit | None
    issuers: tuple[IssuerSettings, ...]


def read_auth_file(path: str) -> AuthFile:
    """Return what a file says; raises AuthFileInvalid.

    Whether the roles and ids are those of a table is checked by `open_authentication`.
    """
    content = read_trusted(path, lambda fact, advice: AuthFileInvalid(path, fact, advice))
    try:
        read: dict[str, Any] = tomllib.loads(content.decode())
    except UnicodeDecodeError:
        raise AuthFileInvalid(path, "it is not UTF-8", "Write it as TOML.") from None
    except tomllib.TOMLDecodeError as error:
        raise AuthFileInvalid(path, f"it is not TOML: {error}", "Fix it.") from None
    section = _Section(path, "", read, _TOP)
    issuers = tuple(
        _read_issuer(path, name, entry) for name, entry in section.read_tables("issuers").items()
    )
    named: dict[str, str] = {}
    for each in issuers:
        if each.issuer in named:
            fact = f"[issuers.{named[each.issuer]}] and [issuers.{each.name}] have the same issuer"
            raise AuthFileInvalid(path, fact, "Make one of them of both.")
        named[each.issuer] = each.name
    keys = section.find_text("keys")
    if keys is None and not issuers:
        advice = 'Add an [issuers.…] table, or keys = "FILE".'
        raise AuthFileInvalid(path, "it lets nobody call", advice)
    return AuthFile(
        path, None if keys is None else _beside(path, keys), _read_limit(section), issuers
    )


@dataclass(frozen=True, slots=True)
class _Section:
    """A table of the file: reads its fields, and raises AuthFileInvalid for those that are wrong."""

    path: str
    name: str
    given: Mapping[str, Any]
    known: Collection[str]

    def __post_init__(self) -> None:
        unknown = sorted(self.given.keys() - set(self.known))
        if unknown:
            may = f"It may have {', '.join(sorted(self.known))}."
            raise self.refuse(f"has unknown fields: {', '.join(unknown)}", may)

    def refuse(self, fact: str, advice: str) -> AuthFileInvalid:
        subject = f"[{self.name}] {fact}" if self.name else f"it {fact}"
        return AuthFileInvalid(self.path, subject, advice)

    def find(self, name: str, expected: str, fits: Callable[[Any], bool]) -> Any:
        value = self.given.get(name)
        if value is not None and not fits(value):
            raise self.refuse(f"has a field {name} that is not {expected}", "Fix it.")
        return value

    def find_text(self, name: str) -> str | None:
        return self.find(name, "a text", _is_text)

    def read_text(self, name: str, advice: str) -> str:
        value = self.find_text(name)
        if value is None:
            raise self.refuse(f"has no {name}", advice)
        return value

    def read_texts(self, name: str, advice: str) -> tuple[str, ...]:
        value = self.find(name, "a text, or a list of texts", _is_text_or_texts)
        if value is None:
            raise self.refuse(f"has no {name}", advice)
        return (value,) if isinstance(value, str) else tuple(value)

    def find_table(self, name: str, expected: str, fits: Callable[[Any], bool]) -> dict[str, Any]:
        def is_fitting(value: Any) -> bool:
            return isinstance(value, dict) and all(map(fits, cast(dict[str, Any], value).values()))

        return self.find(name, expected, is_fitting) or {}

    def read_tables(self, name: str) -> dict[str, Any]:
        return self.find_table(name, "a table of tables", lambda each: isinstance(each, dict))

    def find_seconds(self, name: str, default: float, most: float) -> float:
        expected = f"a number of seconds up to {most:.0f}"
        value = self.find(name, expected, lambda each: _is_number(each) and 0 <= each <= most)
        return default if value is None else float(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_text_or_texts(value: Any) -> bool:
    if isinstance(value, list):
        return bool(cast(list[Any], value)) and all(map(_is_text, cast(list[Any], value)))
    return _is_text(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _beside(path: str, name: str) -> str:
    return str(Path(path).parent / name)


def _read_limit(section: _Section) -> RateLimit | None:
    given = section.find("limits", "a table", lambda each: isinstance(each, dict))
    if given is None:
        return None
    limits = _Section(section.path, "limits", given, _LIMITS)
    for name in sorted(_LIMITS):
        if name not in given:
            advice = "Give units_per_second and burst_units: capacity units of each principal."
            raise limits.refuse(f"has no {name}", advice)
    try:
        return RateLimit(given["units_per_second"], given["burst_units"])
    except OptionInvalid as error:
        fact = f"has a field {error.option} that is not a number above 0"
        raise limits.refuse(fact, "Fix it.") from None


def _read_issuer(path: str, name: str, entry: dict[str, Any]) -> IssuerSettings:
    section = _Section(path, f"issuers.{name}", entry, _ISSUER)
    issuer = section.read_text("issuer", "Give the text that tokens have as iss.")
    audiences = section.read_texts(
        "audience", "Give the text that tokens for this service have as aud."
    )
    source = _read_source(section)
    base = _FILE_TIMES if isinstance(source, JwksFile) else _URL_TIMES
    times = RotationTimes(
        section.find_seconds("refresh_seconds", base.refresh_seconds, _MOST_SECONDS),
        base.retry_seconds,
        section.find_seconds("grace_seconds", base.grace_seconds, _MOST_SECONDS),
    )
    if times.grace_seconds <= times.refresh_seconds:
        fact = f"has grace_seconds {times.grace_seconds:g}, and refresh_seconds {times.refresh_seconds:g}"
        raise section.refuse(
            fact, "Keys have to be used for longer than until they are read again."
        )
    return IssuerSettings(
        name,
        issuer,
        frozenset(audiences),
        _read_algorithms(section),
        source,
        times,
        _read_mapping(section),
        section.find_seconds("leeway_seconds", _LEEWAY_SECONDS, _MOST_LEEWAY_SECONDS),
    )


def _read_algorithms(section: _Section) -> frozenset[str]:
    possible = f"Possible are {', '.join(KEY_KINDS)}."
    names = section.read_texts("algorithms", f"List those that the issuer signs with. {possible}")
    for name in names:
        if name.upper().startswith("HS"):
            fact = (
                f"has algorithm {name}, whose secret lets everybody who verifies tokens make them"
            )
            raise section.refuse(fact, f"{possible} For machines, there are API keys.")
        if name not in KEY_KINDS:
            raise section.refuse(f"has algorithm {name!r:.40}, which is not supported", possible)
    return frozenset(names)


def _read_source(section: _Section) -> JwksUrl | JwksFile:
    url, file = section.find_text("jwks_url"), section.find_text("jwks_file")
    if (url is None) == (file is None):
        got = "neither" if url is None else "both"
        raise section.refuse(f"has {got} of jwks_url and jwks_file", "Give one of them.")
    if file is not None:
        return JwksFile(_beside(section.path, file))
    assert url is not None
    if not is_safe_url(url):
        fact = f"has the jwks_url {url!r:.100}, which others could answer"
        raise section.refuse(fact, "Use https://, or http:// on this machine.")
    return JwksUrl(url)


def _read_mapping(section: _Section) -> ClaimMapping:
    given = section.given
    by_claim = [name for name in ("role_claim", "roles") if name in given]
    if ("role" in given) == bool(by_claim) or len(by_claim) == 1:
        got = ", ".join(name for name in ("role", *by_claim) if name in given) or "none"
        fact = f"has {got} of role, role_claim and roles"
        advice = "Give role if all tokens have the same; if not, role_claim and roles."
        raise section.refuse(fact, advice)
    roles = section.find_table("roles", "a table of roles, by values of the claim", _is_text)
    if by_claim and not roles:
        raise section.refuse("has no entry in roles", "Name a role for each value of role_claim.")
    return ClaimMapping(
        section.read_texts("role", "") if "role" in given else (),
        _read_path(section.find("role_claim", "a claim", _is_text_or_texts)),
        roles,
        {
            name: cast(ClaimPath, _read_path(claim))
            for name, claim in section.find_table(
                "ids", "a table of claims, by tenant", _is_text_or_texts
            ).items()
        },
    )


def _read_path(given: str | list[str] | None) -> ClaimPath | None:
    if given is None:
        return None
    return (given,) if isinstance(given, str) else tuple(given)
