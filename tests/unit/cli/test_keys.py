"""`keyfold keys`: access keys are created, listed, rotated and revoked; secrets are shown once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from keyfold.wire.server._key_file import read_keys
from tests.unit.cli.program import Outcome, Run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.toml"


def read(outcome: Outcome) -> Any:
    assert (outcome.code, outcome.err) == (0, "")
    return json.loads(outcome.out)


def add(run: Run, file: Path, *more: str) -> dict[str, Any]:
    return read(run("keys", "add", file, "--json", *more))


def test_a_key_is_added_and_its_secret_shown_once(run: Run, file: Path) -> None:
    outcome = run("keys", "add", file, "--name", "ada", "--role", "customer", "--id", "user=ada")
    (key,) = read_keys(str(file)).values()
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines() == [
        f"{file}: ada has a new key (role customer user=ada). Its secret is shown only this once:",
        f"AWS_ACCESS_KEY_ID={key.access_key}",
        f"AWS_SECRET_ACCESS_KEY={key.secret}",
    ]
    assert file.stat().st_mode & 0o777 == 0o600
    for shown in (run("keys", "list", file).out, run("keys", "list", file, "--json").out):
        assert key.access_key in shown
        assert "ada" in shown
        assert key.secret not in shown


def test_a_key_may_have_several_roles(run: Run, file: Path) -> None:
    given = ("--role", "seller", "--role", "customer", "--role", "seller", "--id", "user=ada")
    result = add(run, file, "--name", "ada", *given)
    assert (result["roles"], result["ids"]) == (["customer", "seller"], {"user": "ada"})
    assert 'role = ["customer", "seller"]' in file.read_text()
    assert "roles customer, seller" in " ".join(run("keys", "list", file).out.split())
    one = add(run, file, "--name", "bob", "--role", "customer", "--id", "user=bob")
    assert one["roles"] == ["customer"]
    assert 'role = "customer"' in file.read_text()


def test_a_key_with_a_token_shows_it_once_too(run: Run, file: Path) -> None:
    result = add(run, file, "--name", "ops", "--admin", "--token")
    key = read_keys(str(file))[result["access_key"]]
    assert (result["secret"], result["token"], result["admin"]) == (key.secret, key.token, True)
    (listed,) = read(run("keys", "list", file, "--json"))["keys"]
    assert listed == {
        name: result[name] for name in result if name not in ("file", "secret", "token")
    }
    assert result["has_token"]


def test_the_path_of_a_policy_is_stored_relative_to_the_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "policy.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    file = Path("secret/keys.toml")
    result = add(run, file, "--name", "ada", "--policy", "policy.json", "--id", "user=ada")
    assert (result["policy"], result["ids"]) == ("../policy.json", {"user": "ada"})


def test_a_rotated_key_stays_until_it_is_revoked(run: Run, file: Path) -> None:
    old = add(run, file, "--name", "ada", "--role", "customer", "--id", "user=ada")["access_key"]
    outcome = run("keys", "rotate", file, old)
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1] == (
        f"{old} works until it is revoked: keyfold keys revoke {file} {old}"
    )
    keys = read_keys(str(file))
    first, second = keys.values()
    assert first.access_key == old
    assert first.secret != second.secret
    assert first.secret not in outcome.out
    assert second.secret in outcome.out
    assert (first.name, first.roles, first.ids) == (second.name, second.roles, second.ids)
    revoked = run("keys", "revoke", file, old)
    assert revoked.out == f"{file}: {old} of ada is revoked.\n"
    assert list(read_keys(str(file))) == [second.access_key]
    result = read(run("keys", "revoke", file, second.access_key, "--json"))
    assert result == {"file": str(file), "revoked": second.access_key, "name": "ada"}
    assert run("keys", "list", file).out == f"{file}: there are no keys.\n"


def test_rotate_prints_json_on_request(run: Run, file: Path) -> None:
    old = add(run, file, "--name", "ada", "--admin")
    new = read(run("keys", "rotate", file, old["access_key"], "--json"))
    assert new.keys() == old.keys()
    assert new["secret"] != old["secret"]


def test_a_disabled_key_is_not_rotated(run: Run, file: Path) -> None:
    key = add(run, file, "--name", "ada", "--admin")["access_key"]
    file.write_text(file.read_text().replace("admin = true", "admin = true\ndisabled = true"))
    outcome = run("keys", "rotate", file, key)
    assert outcome.code == 2
    assert f"{key} is disabled" in outcome.err
    assert "disabled" in run("keys", "list", file).out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--admin"], "Missing option '--name'"),
        (["--name", "ada"], "give exactly one of --role, --policy and --admin."),
        (
            ["--name", "ada", "--admin", "--role", "x"],
            "give exactly one of --role, --policy and --admin.",
        ),
        (["--name", "a b", "--admin"], "has a name that is not valid for an IAM user"),
        (["--name", "ada", "--policy", "absent.json"], "there is no file absent.json."),
        (["--name", "ada", "--role", "x", "--id", "user"], "'user' is not NAME=VALUE."),
        (["--name", "ada", "--role", "x", "--id", "=x"], "'=x' is not NAME=VALUE."),
        (["--name", "a", "--role", "x", "--id", "u=x", "--id", "u=y"], "u is given twice."),
        (["--name", "ada", "--admin", "--id", "u=x"], "has ids, which have no effect on an admin"),
    ],
)
def test_an_invalid_key_is_not_created(
    run: Run, file: Path, arguments: list[str], message: str
) -> None:
    outcome = run("keys", "add", file, *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert not file.exists()


@pytest.mark.parametrize("command", ["rotate", "revoke"])
def test_an_unknown_key_is_reported(run: Run, file: Path, command: str) -> None:
    key = add(run, file, "--name", "ada", "--admin")
    outcome = run("keys", command, file, "AKIANOBODY")
    assert outcome.code == 2
    assert f"{file} has no key 'AKIANOBODY'; it has {key['access_key']}." in outcome.err
    assert key["secret"] not in outcome.err


def test_a_file_that_others_can_read_is_refused(run: Run, file: Path) -> None:
    add(run, file, "--name", "ada", "--admin")
    file.chmod(0o644)
    for arguments in (("list",), ("add", "--name", "x", "--admin")):
        outcome = run("keys", arguments[0], file, *arguments[1:])
        assert outcome.code == 2
        assert f"Run `chmod 600 {file}`. [keys-unusable]" in outcome.err


def test_listing_a_missing_file_is_an_error(run: Run, file: Path) -> None:
    assert "No such file" in run("keys", "list", file).err
    assert "cannot be read" in run("keys", "list", file).err
