"""The file that says who may call: what it takes, and how mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from keyfold.errors import AuthFileInvalid
from keyfold.service._auth_file import read_auth_file
from keyfold.service._key_rotation import JwksUrl, RotationTimes
from keyfold.service._rate_limits import RateLimit
from tests.unit.service.tokens import LOGIN, open_files, write_files


def find_problem(folder: Path, text: str) -> str:
    """Return the message about a file, after its path."""
    with pytest.raises(AuthFileInvalid) as caught:
        open_files(folder, text)
    message = str(caught.value)
    assert message.startswith(f"{folder / 'auth.toml'}: ")
    assert message.endswith(" [auth-file-invalid]")
    return message.removeprefix(f"{folder / 'auth.toml'}: ").removesuffix(" [auth-file-invalid]")


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    text = LOGIN.replace('jwks_file = "jwks.json"', 'jwks_url = "https://login.example/jwks"')
    text = f'keys = "sub/keys.toml"\n[limits]\nunits_per_second = 5\nburst_units = 50.5\n{text}'
    path = write_files(tmp_path, text + "leeway_seconds = 5\nrefresh_seconds = 60\n")
    file = read_auth_file(path)
    assert file.keys == str(tmp_path / "sub" / "keys.toml")
    assert file.limit == RateLimit(5, 50.5)
    (issuer,) = file.issuers
    assert (issuer.name, issuer.issuer) == ("login", "https://login.example/")
    assert (issuer.audiences, issuer.algorithms) == ({"market"}, {"RS256"})
    assert issuer.source == JwksUrl("https://login.example/jwks")
    assert issuer.times == RotationTimes(60, 30, 3_600)
    assert issuer.leeway_seconds == 5
    assert issuer.mapping.ids == {"user": ("sub",)}


def test_limits_are_those_of_the_file(tmp_path: Path) -> None:
    assert open_files(tmp_path).limits is None
    limits = open_files(
        tmp_path, "[limits]\nunits_per_second = 1\nburst_units = 2\n" + LOGIN
    ).limits
    assert limits is not None
    limits.charge("ada", 3)
    assert limits.admit("ada") == 1.0


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        (LOGIN, "", 'it lets nobody call. Add an [issuers.…] table, or keys = "FILE".'),
        (LOGIN, "x = [", "it is not TOML: "),
        (LOGIN, "key = 'k'", "it has unknown fields: key. It may have issuers, keys, limits."),
        (LOGIN, "keys = 7", "it has a field keys that is not a text. Fix it."),
        (LOGIN, "issuers = 7", "it has a field issuers that is not a table of tables."),
        (LOGIN, "issuers = {login = 7}", "it has a field issuers that is not a table of tables."),
        (
            'role = "customer"',
            'rol = "customer"',
            "[issuers.login] has unknown fields: rol. It may",
        ),
        ('issuer = "https://login.example/"', "", "[issuers.login] has no issuer. Give the text"),
        ('"https://login.example/"', '""', "[issuers.login] has a field issuer that is not a text"),
        ('audience = "market"', "", "[issuers.login] has no audience. Give the text that tokens"),
        ('"market"', "[]", "has a field audience that is not a text, or a list of texts."),
        ('"market"', "[7]", "has a field audience that is not a text, or a list of texts."),
        ('algorithms = ["RS256"]', "", "has no algorithms. List those that the issuer signs with."),
        ("RS256", "none", "has algorithm 'none', which is not supported. Possible are RS256,"),
        ("RS256", "rs256", "has algorithm 'rs256', which is not supported."),
        ("RS256", "HS256", "has algorithm HS256, whose secret lets everybody who verifies tokens"),
        ('jwks_file = "jwks.json"', "", "has neither of jwks_url and jwks_file. Give one of them."),
        ("jwks_file", 'jwks_url = "https://a/"\njwks_file', "has both of jwks_url and jwks_file."),
        ("jwks_file", "jwks_url", "has the jwks_url 'jwks.json', which others could answer. Use"),
        ("jwks.json", "none.json", "none.json: it cannot be read: No such file"),
        ("jwks.json", "auth.toml", "auth.toml: it is not JSON: "),
        ("RS256", "ES256", "jwks.json: none of its keys is usable for ES256."),
        ('role = "customer"', "", "has none of role, role_claim and roles. Give role if all"),
        ('role = "customer"', 'role_claim = "r"', "has role_claim of role, role_claim and roles."),
        (
            'role = "customer"',
            'role_claim = "r"\nroles = {}',
            "has no entry in roles. Name a role for each value of role_claim.",
        ),
        (
            'role = "customer"',
            'role = "customer"\nrole_claim = "r"\nroles = {a = "customer"}',
            "has role, role_claim, roles of role, role_claim and roles.",
        ),
        (
            'role = "customer"',
            'role = "pilot"',
            "has role 'pilot', which is not declared. Known roles: auditor, customer, seller.",
        ),
        (
            'role = "customer"',
            'role = "auditor"',
            "[issuers.login] has an id for 'user'. Its roles take no id.",
        ),
        ("{user", "{shop", "[issuers.login] has an id for 'shop'. Its roles take user."),
        (
            'ids = {user = "sub"}',
            "",
            'the tenant of a role. Name the claim that has it, such as ids = {user = "sub"}.',
        ),
        (
            '{user = "sub"}',
            "{user = 7}",
            "has a field ids that is not a table of claims, by tenant",
        ),
        (
            "[issuers",
            "[limits]\n[issuers",
            "[limits] has no burst_units. Give units_per_second and",
        ),
        (
            "[issuers",
            "[limits]\nunits_per_second = 0\nburst_units = 1\n[issuers",
            "[limits] has a field units_per_second that is not a number above 0. Fix it.",
        ),
        ("role =", "leeway_seconds = 301\nrole =", "is not a number of seconds up to 300. Fix it."),
        ("role =", "leeway_seconds = nan\nrole =", "is not a number of seconds up to 300. Fix it."),
        ("role =", "grace_seconds = true\nrole =", "is not a number of seconds up to 86400."),
        ("role =", "grace_seconds = 5\nrole =", "has grace_seconds 5, and refresh_seconds 5. Keys"),
        (LOGIN, LOGIN + LOGIN.replace("s.login", "s.two"), "[issuers.two] have the same issuer."),
    ],
)
def test_mistakes_are_told(tmp_path: Path, before: str, after: str, problem: str) -> None:
    assert before in LOGIN
    assert problem in find_problem(tmp_path, LOGIN.replace(before, after))


def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    path = Path(write_files(tmp_path))
    path.chmod(0o664)
    with pytest.raises(AuthFileInvalid, match=r"other than its owner may change it \(mode 0664\)"):
        read_auth_file(str(path))
    # Everybody may read it: it has no secrets.
    path.chmod(0o644)
    assert read_auth_file(str(path)).issuers
    tmp_path.chmod(0o777)
    with pytest.raises(AuthFileInvalid, match="everybody may replace it"):
        read_auth_file(str(path))
    tmp_path.chmod(0o700)


def test_what_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = Path(write_files(tmp_path))
    path.write_bytes(b"keys = '\xff'")
    with pytest.raises(AuthFileInvalid, match="it is not UTF-8"):
        read_auth_file(str(path))
    with pytest.raises(AuthFileInvalid, match="it cannot be read"):
        read_auth_file(str(tmp_path / "none.toml"))
