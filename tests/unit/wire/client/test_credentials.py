"""Where credentials are found, and when they are renewed."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from keyfold.errors import CredentialsMissing, OptionInvalid
from keyfold.wire.client import Credentials
from keyfold.wire.client._credentials import CredentialSource, Loaded, find_source

NOW = 1_700_000_000.0


class Home:
    """Environment variables and profile files that belong to one test."""

    def __init__(self, folder: Path) -> None:
        self._config, self._credentials = folder / "config", folder / "credentials"
        self.environment = {
            "AWS_CONFIG_FILE": str(self._config),
            "AWS_SHARED_CREDENTIALS_FILE": str(self._credentials),
        }

    def write(self, *, config: str = "", credentials: str = "") -> None:
        self._config.write_text(config)
        self._credentials.write_text(credentials)

    def find(self, *, is_aws: bool = True, profile: str | None = None) -> Credentials:
        source = find_source(
            None,
            profile=profile,
            is_aws=is_aws,
            clock=lambda: NOW,
            environment=self.environment,
        )
        return source.renew(NOW)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Start without profile files, and with a botocore that finds no credentials."""
    monkeypatch.setitem(sys.modules, "botocore.session", fake_botocore(None))
    return Home(tmp_path)


def fake_botocore(found: Any) -> Any:
    def session(profile: str | None) -> Any:
        return SimpleNamespace(get_credentials=lambda: found)

    return SimpleNamespace(Session=session)


def test_the_environment_comes_first(home: Home) -> None:
    home.write(credentials="[default]\naws_access_key_id = b\naws_secret_access_key = c")
    home.environment |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    assert home.find() == Credentials("key", "secret")
    home.environment |= {
        "AWS_SESSION_TOKEN": "token",
        "AWS_CREDENTIAL_EXPIRATION": "2023-11-14T22:13:20Z",
    }
    assert home.find() == Credentials("key", "secret", "token", NOW)


def test_an_access_key_without_a_secret_is_refused(home: Home) -> None:
    home.environment["AWS_ACCESS_KEY_ID"] = "key"
    with pytest.raises(CredentialsMissing, match="AWS_SECRET_ACCESS_KEY is not"):
        home.find()
    home.environment |= {"AWS_SECRET_ACCESS_KEY": "x", "AWS_CREDENTIAL_EXPIRATION": "soon"}
    with pytest.raises(CredentialsMissing, match="is not a timestamp: soon"):
        home.find()


FILES = {
    "config": (
        "[default]\nregion = eu-west-1\naws_access_key_id = d\naws_secret_access_key = dd\n"
        "[profile work]\naws_access_key_id = ignored\naws_secret_access_key = ww\n"
        "s3 =\n  max_concurrent_requests = 20\n"
    ),
    "credentials": "[work]\naws_access_key_id = w\naws_session_token = t\n",
}


def test_profiles_are_read_from_both_files(home: Home) -> None:
    home.write(**FILES)
    assert home.find() == Credentials("d", "dd")
    assert home.find(profile="work") == Credentials("w", "ww", "t")
    home.environment["AWS_PROFILE"] = "work"
    assert home.find() == Credentials("w", "ww", "t")
    # An explicit profile takes precedence over the environment.
    home.environment |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    assert home.find() == Credentials("key", "secret")
    assert home.find(profile="work") == Credentials("w", "ww", "t")


def test_errors_say_what_is_wrong_with_a_profile(home: Home) -> None:
    with pytest.raises(CredentialsMissing, match="there is no profile 'x' in the profile files"):
        home.find(profile="x")
    home.write(credentials="[x]\naws_access_key_id = a")
    with pytest.raises(CredentialsMissing, match="profile 'x' has aws_access_key_id, but no"):
        home.find(profile="x")
    home.write(credentials="no section")
    with pytest.raises(CredentialsMissing, match="credentials cannot be read"):
        home.find()


def test_an_endpoint_outside_aws_gets_dummy_credentials(home: Home) -> None:
    assert home.find(is_aws=False) == Credentials("keyfold", "keyfold")
    with pytest.raises(CredentialsMissing, match="botocore found none in any of its sources"):
        home.find()


@pytest.mark.parametrize(
    "config",
    [
        "[default]\nrole_arn = arn:aws:iam::1:role/r\naws_access_key_id = a\n",
        "[default]\nsso_session = s\n",
        "[default]\ncredential_process = /bin/keys\n",
    ],
)
def test_roles_and_other_providers_are_left_to_botocore(
    home: Home, monkeypatch: pytest.MonkeyPatch, config: str
) -> None:
    home.write(config=config)
    for is_aws in (True, False):
        frozen = SimpleNamespace(access_key="role", secret_key="s", token="t")
        found = SimpleNamespace(get_frozen_credentials=lambda frozen=frozen: frozen)
        monkeypatch.setitem(sys.modules, "botocore.session", fake_botocore(found))
        assert home.find(is_aws=is_aws) == Credentials("role", "s", "t")
        monkeypatch.setitem(sys.modules, "botocore.session", None)
        with pytest.raises(CredentialsMissing, match=r"a role, SSO or a process, and botocore is"):
            home.find(is_aws=is_aws)


def test_without_botocore_the_error_says_what_to_install(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(CredentialsMissing, match=r"pip install 'keyfold\[aws\]'"):
        home.find()


def test_refreshable_credentials_are_read_from_botocore_every_minute(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    class Refreshable:
        def refresh_needed(self) -> bool:
            return True

        def get_frozen_credentials(self) -> Any:
            made.append(1)
            return SimpleNamespace(access_key=f"key-{len(made)}", secret_key="s", token=None)

    sessions: list[int] = []

    def session(profile: str | None) -> Any:
        sessions.append(1)
        return SimpleNamespace(get_credentials=Refreshable)

    monkeypatch.setitem(sys.modules, "botocore.session", SimpleNamespace(Session=session))
    now = [NOW]
    source = find_source(
        None, profile=None, is_aws=True, clock=lambda: now[0], environment=home.environment
    )
    first = source.renew(NOW)
    assert source.current(NOW + 59) is first
    assert source.current(NOW + 61) is None
    now[0] = NOW + 61
    assert source.renew(now[0]).access_key == "key-2"
    assert len(sessions) == 1


def test_credentials_are_renewed_before_they_expire() -> None:
    given: list[Credentials] = [Credentials("a", "s", None, NOW + 1_000)]
    source = find_source(lambda: given[-1], profile=None, is_aws=True, clock=lambda: NOW)
    first = source.renew(NOW)
    assert source.current(NOW + 699) is first
    assert source.current(NOW + 701) is None
    given.append(Credentials("b", "s", None, NOW + 5_000))
    assert source.renew(NOW + 701).access_key == "b"


def test_if_renewal_fails_the_old_credentials_are_used_until_they_expire() -> None:
    answers: list[Loaded | None] = [Loaded(Credentials("a", "s", None, NOW + 400), NOW + 100), None]

    def load() -> Loaded:
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        if found is None:
            raise CredentialsMissing("gone", "Look.")
        return found

    source = CredentialSource(load)
    first = source.renew(NOW)
    assert source.renew(NOW + 200) is first
    assert source.current(NOW + 259) is first
    assert source.current(NOW + 261) is None
    with pytest.raises(CredentialsMissing):
        source.renew(NOW + 401)


def test_refused_credentials_are_loaded_again_and_unchanged_ones_keep_their_identity() -> None:
    source = CredentialSource(lambda: Loaded(Credentials("a", "s"), math.inf))
    first = source.renew(NOW)
    source.forget(Credentials("a", "s"))  # not the object in use
    assert source.current(NOW) is first
    source.forget(first)
    assert source.current(NOW) is None
    short = CredentialSource(lambda: Loaded(Credentials("a", "s"), NOW + 1))
    kept = short.renew(NOW)
    assert short.renew(NOW + 2) is kept


def test_explicit_credentials_are_used() -> None:
    own = Credentials("own", "s")
    source = find_source(own, profile=None, is_aws=True, clock=lambda: NOW)
    assert source.renew(NOW) is own
    with pytest.raises(OptionInvalid, match=r"Give keyfold\.wire\.client\.Credentials"):
        find_source(cast("Any", ("a", "b")), profile=None, is_aws=True, clock=lambda: NOW)


@pytest.mark.parametrize(
    ("credentials", "name"),
    [
        (Credentials("key\n", "secret"), "access key"),
        (Credentials("key", "sécret"), "secret key"),
        (Credentials("key", "secret", "token\r\nX-Header: 1"), "session token"),
    ],
)
def test_credentials_with_invalid_characters_are_refused(
    credentials: Credentials, name: str
) -> None:
    source = find_source(credentials, profile=None, is_aws=True, clock=lambda: NOW)
    with pytest.raises(CredentialsMissing, match=f"the {name} has invalid characters"):
        source.renew(NOW)
