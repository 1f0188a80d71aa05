"""`keyfold keys`: create, list, rotate and revoke the access keys of a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfold.cli._help import WrappedHelpGroup
from keyfold.cli._options import AsJson, show_examples

if TYPE_CHECKING:
    # Imported when a command runs, so that --help does not load the server.
    from keyfold.wire.server._key_file import AccessKey

app = typer.Typer(
    name="keys",
    help="Manage the access keys of `keyfold serve --auth`.",
    no_args_is_help=True,
    cls=WrappedHelpGroup,
    rich_markup_mode=None,
)

_File = Annotated[Path, typer.Argument(help="The file with the access keys.", metavar="FILE")]
_AccessKey = Annotated[str, typer.Argument(help="The access key id.", metavar="ACCESS_KEY")]


@app.command(
    epilog=show_examples(
        "keyfold keys add keys.toml --name ops --admin",
        "keyfold keys add keys.toml --name ada --role customer --id user=ada",
        "keyfold keys add keys.toml --name eve --role support --role fulfilment",
        "keyfold keys add keys.toml --name reports --policy reports.json",
    )
)
def add(
    file: _File,
    *,
    name: Annotated[str, typer.Option(help="The name of the key's owner.", metavar="NAME")],
    roles: Annotated[
        list[str] | None,
        typer.Option(
            "--role",
            help="The key's role, which the served tables declare. Repeatable: the key may do "
            "what one of its roles allows.",
            metavar="NAME",
        ),
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(help="The key's rights, as an IAM policy (JSON).")
    ] = None,
    admin: Annotated[bool, typer.Option("--admin", help="The key may do everything.")] = False,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            help="An id of the key's owner, such as the tenant of the role; a policy refers to it "
            "as aws:PrincipalTag/NAME. Repeatable.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    token: Annotated[
        bool, typer.Option("--token", help="Add a session token, which requests must then carry.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Create an access key with roles, a policy or all rights.

    FILE is created if it does not exist, readable only by you. The secret is shown only this
    once. A running server that uses the file accepts the key immediately.
    """
    from datetime import UTC, datetime

    from keyfold.cli._ids import read_ids
    from keyfold.wire.server._key_file import changing_keys, make_key

    given = [
        flag for flag, value in (("role", roles), ("policy", policy), ("admin", admin)) if value
    ]
    if len(given) != 1:
        raise typer.BadParameter("give exactly one of --role, --policy and --admin.")
    if policy is not None and not policy.is_file():
        raise typer.BadParameter(f"there is no file {policy}.", param_hint="--policy")
    with changing_keys(str(file)) as keys:
        key = make_key(
            name,
            has_token=token,
            now=datetime.now(UTC),
            roles=tuple(sorted(set(roles or ()))),
            policy=None if policy is None else _relative_path(file, policy),
            is_admin=admin,
            ids=read_ids(ids or ()),
        )
        keys[key.access_key] = key
    _show_new(key, file, as_json=as_json)


@app.command(
    "list",
    epilog=show_examples("keyfold keys list keys.toml", "keyfold keys list keys.toml --json"),
)
def list_keys(file: _File, *, as_json: AsJson = False) -> None:
    """List the keys with their owners and rights, without secrets."""
    from keyfold.wire.server._key_file import read_keys

    keys = read_keys(str(file))
    if as_json:
        print(json.dumps({"keys": [_describe(key) for key in keys.values()]}, indent=2))
        return
    from keyfold.cli._terminal import make_console, make_table

    if not keys:
        print(f"{file}: there are no keys.")
        return
    shown = make_table()
    for column in ("access key", "name", "may act as", "created", "state"):
        shown.add_column(column, overflow="fold")
    for key in keys.values():
        state = "disabled" if key.is_disabled else "active"
        created = "" if key.created is None else f"{key.created:%Y-%m-%d %H:%M}"
        shown.add_row(key.access_key, key.name, key.rights, created, state)
    make_console().print(shown)


@app.command(epilog=show_examples("keyfold keys rotate keys.toml AKIA5EXAMPLE"))
def rotate(file: _File, access_key: _AccessKey, *, as_json: AsJson = False) -> None:
    """Create a new key for the same owner, with the same rights.

    Both keys work until you revoke the old one: hand out the new key, then run `keyfold keys
    revoke` for the old one. The new secret is shown only this once.
    """
    from datetime import UTC, datetime

    from keyfold.wire.server._key_file import changing_keys, renew_key

    with changing_keys(str(file)) as keys:
        old = _find(keys, access_key, file)
        if old.is_disabled:
            fact = (
                f"{access_key} is disabled, but a new key would be active. "
                f"Remove `disabled` from the key in {file} first."
            )
            raise typer.BadParameter(fact, param_hint="ACCESS_KEY")
        key = renew_key(old, now=datetime.now(UTC))
        keys[key.access_key] = key
    _show_new(key, file, as_json=as_json)
    if not as_json:
        print(f"{access_key} works until it is revoked: keyfold keys revoke {file} {access_key}")


@app.command(epilog=show_examples("keyfold keys revoke keys.toml AKIA5EXAMPLE"))
def revoke(file: _File, access_key: _AccessKey, *, as_json: AsJson = False) -> None:
    """Delete a key. Servers that use the file refuse it from then on."""
    from keyfold.wire.server._key_file import changing_keys

    with changing_keys(str(file)) as keys:
        key = _find(keys, access_key, file)
        del keys[access_key]
    if as_json:
        print(json.dumps({"file": str(file), "revoked": access_key, "name": key.name}, indent=2))
    else:
        print(f"{file}: {access_key} of {key.name} is revoked.")


def _find(keys: dict[str, AccessKey], access_key: str, file: Path) -> AccessKey:
    found = keys.get(access_key)
    if found is None:
        known = ", ".join(keys) or "none"
        fact = f"{file} has no key {access_key!r:.80}; it has {known}."
        raise typer.BadParameter(fact, param_hint="ACCESS_KEY")
    return found


def _relative_path(file: Path, policy: Path) -> str:
    """Return the path of a policy relative to the folder of the key file."""
    import os

    return os.path.relpath(policy.resolve(), file.resolve().parent)


def _describe(key: AccessKey) -> dict[str, Any]:
    rights = {
        "roles": [*key.roles],
        "policy": key.policy,
        "admin": key.is_admin,
        "ids": dict(key.ids),
    }
    return {
        "access_key": key.access_key,
        "name": key.name,
        **{name: value for name, value in rights.items() if value},
        "created": None if key.created is None else key.created.isoformat(),
        "disabled": key.is_disabled,
        "has_token": key.token is not None,
    }


def _show_new(key: AccessKey, file: Path, *, as_json: bool) -> None:
    if as_json:
        document = {**_describe(key), "secret": key.secret}
        if key.token is not None:
            document["token"] = key.token
        print(json.dumps({"file": str(file), **document}, indent=2))
        return
    print(f"{file}: {key.name} has a new key ({key.rights}). Its secret is shown only this once:")
    print(f"AWS_ACCESS_KEY_ID={key.access_key}")
    print(f"AWS_SECRET_ACCESS_KEY={key.secret}")
    if key.token is not None:
        print(f"AWS_SESSION_TOKEN={key.token}")
