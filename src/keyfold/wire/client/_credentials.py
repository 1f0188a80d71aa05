"""Sources of credentials: the environment, profile files, or botocore's provider chain."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from importlib import import_module
from typing import Any, NamedTuple

from keyfold.clocks import Clock
from keyfold.errors import CredentialsMissing, OptionInvalid
from keyfold.wire.client._signing import Credentials

# How long before their expiry credentials are renewed.
_EARLY_SECONDS = 300.0
# How long credentials of botocore are used before it is asked again; it renews them by itself.
_RELOAD_SECONDS = 60.0

# Settings of a profile that only botocore can resolve.
_INDIRECT = (
    "role_arn",
    "sso_session",
    "sso_account_id",
    "web_identity_token_file",
    "credential_process",
)
_ADVICE = (
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile. Roles, SSO and credentials of "
    "containers and instances need botocore: pip install 'keyfold[aws]'."
)


class Loaded(NamedTuple):
    """Credentials, and the time until which they need not be loaded again."""

    credentials: Credentials
    good_until: float


Load = Callable[[], Loaded]


class CredentialSource:
    """Caches credentials, and renews them before they expire. Thread-safe."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._loaded: Loaded | None = None
        self._lock = threading.Lock()

    def current(self, now: float) -> Credentials | None:
        """Return the credentials if they are still valid; None if `renew` is needed."""
        loaded = self._loaded
        return loaded.credentials if loaded is not None and now < loaded.good_until else None

    def renew(self, now: float) -> Credentials:
        """Load the credentials, which may block; raises CredentialsMissing."""
        with self._lock:
            found = self.current(now)
            if found is not None:
                return found
            before = self._loaded
            try:
                loaded = self._load()
                _check(loaded.credentials)
            except Exception:
                # The previous credentials can be used until they expire.
                if before is None or (before.credentials.expires or -math.inf) <= now:
                    raise
                loaded = Loaded(before.credentials, now + _RELOAD_SECONDS)
            if before is not None and loaded.credentials == before.credentials:
                # The same object, so that what the signer cached for it stays valid.
                loaded = Loaded(before.credentials, loaded.good_until)
            self._loaded = loaded
            return loaded.credentials

    def forget(self, refused: Credentials) -> None:
        """Drop credentials that the service refused, so that the next use renews them."""
        with self._lock:
            if self._loaded is not None and self._loaded.credentials is refused:
                self._loaded = None


def _check(credentials: Credentials) -> None:
    """Raise CredentialsMissing for credentials that do not fit into a header, as with newlines."""
    for name, text in (
        ("access key", credentials.access_key),
        ("secret key", credentials.secret_key),
        ("session token", credentials.token),
    ):
        if text is not None and (not text.isascii() or not text.isprintable() or " " in text):
            fact = f"the {name} has invalid characters"
            raise CredentialsMissing(fact, "Look for spaces and line breaks around it.")


def find_source(
    given: Credentials | Callable[[], Credentials] | None,
    *,
    profile: str | None,
    is_aws: bool,
    clock: Clock,
    environment: Mapping[str, str] = os.environ,
) -> CredentialSource:
    """Return the source of a client's credentials.

    `given` are the user's credentials, or a function that returns them. If there are none,
    endpoints other than AWS get placeholder credentials.
    """
    if isinstance(given, Credentials):
        loaded = Loaded(given, math.inf)
        return CredentialSource(lambda: loaded)
    if callable(given):
        return CredentialSource(lambda: _until_expiry(given()))
    if given is not None:
        advice = "Give keyfold.wire.client.Credentials, or a function that returns them."
        raise OptionInvalid("credentials", type(given).__name__, advice)

    chain = _BotocoreChain(clock)

    def load() -> Loaded:
        return _load(environment, profile, chain, is_aws=is_aws)

    return CredentialSource(load)


def _until_expiry(credentials: Credentials) -> Loaded:
    expires = credentials.expires
    return Loaded(credentials, math.inf if expires is None else expires - _EARLY_SECONDS)


def _load(
    environment: Mapping[str, str],
    profile: str | None,
    chain: _BotocoreChain,
    *,
    is_aws: bool,
) -> Loaded:
    found = None if profile is not None else _load_environment(environment)
    if found is not None:
        return _until_expiry(found)
    chosen = (
        profile or environment.get("AWS_PROFILE") or environment.get("AWS_DEFAULT_PROFILE") or ""
    )
    settings = _read_profile(environment, chosen or "default")
    if chosen and settings is None:
        fact = f"there is no profile {chosen!r} in the profile files"
        raise CredentialsMissing(fact, "Name another, or add it there.")
    settings = settings or {}
    is_indirect = any(name in settings for name in _INDIRECT) or (
        not chosen and "AWS_WEB_IDENTITY_TOKEN_FILE" in environment
    )
    if not is_indirect and "aws_access_key_id" in settings:
        return _until_expiry(_from_profile(chosen or "default", settings))
    if not is_aws and not is_indirect:
        return Loaded(Credentials("keyfold", "keyfold"), math.inf)
    return chain.load(chosen, is_needed=is_indirect)


def _load_environment(environment: Mapping[str, str]) -> Credentials | None:
    access_key = environment.get("AWS_ACCESS_KEY_ID")
    if not access_key:
        return None
    secret_key = environment.get("AWS_SECRET_ACCESS_KEY")
    if not secret_key:
        fact = "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not"
        raise CredentialsMissing(fact, "Set both, or neither.")
    expires = environment.get("AWS_CREDENTIAL_EXPIRATION")
    try:
        expiry = None if not expires else datetime.fromisoformat(expires).timestamp()
    except ValueError:
        fact = f"AWS_CREDENTIAL_EXPIRATION is not a timestamp: {expires}"
        raise CredentialsMissing(fact, "Write it as 2030-01-31T12:00:00Z.") from None
    token = environment.get("AWS_SESSION_TOKEN") or environment.get("AWS_SECURITY_TOKEN")
    return Credentials(access_key, secret_key, token or None, expiry)


def _read_profile(environment: Mapping[str, str], name: str) -> dict[str, str] | None:
    """Return the settings of a profile; the credentials file takes precedence over the config."""
    # Imported here: it takes as long to load as all imports above, and few need it. No pathlib
    # for the same reason.
    parsing = import_module("configparser")
    found: dict[str, str] | None = None
    for variable, default, section in (
        ("AWS_CONFIG_FILE", "~/.aws/config", name if name == "default" else f"profile {name}"),
        ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials", name),
    ):
        path = os.path.expanduser(environment.get(variable) or default)  # noqa: PTH111 - as above
        parser = parsing.RawConfigParser()
        try:
            with open(path, encoding="utf-8") as file:  # noqa: PTH123 - as above
                parser.read_file(file)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError, parsing.Error) as error:
            detail = str(error).replace("\n", " ")
            raise CredentialsMissing(f"{path} cannot be read: {detail}", "Fix it.") from error
        if parser.has_section(section):
            found = {**(found or {}), **dict(parser.items(section))}
    return found


def _from_profile(name: str, settings: dict[str, str]) -> Credentials:
    if "aws_secret_access_key" not in settings:
        fact = f"profile {name!r} has aws_access_key_id, but no aws_secret_access_key"
        raise CredentialsMissing(fact, "Set both.")
    return Credentials(
        settings["aws_access_key_id"],
        settings["aws_secret_access_key"],
        settings.get("aws_session_token") or settings.get("aws_security_token") or None,
    )


class _BotocoreChain:
    """botocore's provider chain, which renews temporary credentials itself."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._found: Any = None

    def load(self, profile: str, *, is_needed: bool) -> Loaded:
        """Return the credentials that are valid now; raises CredentialsMissing."""
        try:
            session: Any = import_module("botocore.session")
        except ImportError:
            named = "a role, SSO or a process" if is_needed else "none"
            fact = (
                f"the environment and the profile files name {named}, and botocore is not installed"
            )
            raise CredentialsMissing(fact, _ADVICE) from None
        try:
            if self._found is None:
                self._found = session.Session(profile=profile or None).get_credentials()
            frozen = None if self._found is None else self._found.get_frozen_credentials()
        except Exception as error:
            raise CredentialsMissing(f"botocore reports: {error}".rstrip("."), _ADVICE) from error
        if frozen is None or not frozen.access_key:
            raise CredentialsMissing("botocore found none in any of its sources", _ADVICE)
        credentials = Credentials(frozen.access_key, frozen.secret_key, frozen.token)
        is_permanent = not hasattr(self._found, "refresh_needed")
        return Loaded(credentials, math.inf if is_permanent else self._clock() + _RELOAD_SECONDS)
