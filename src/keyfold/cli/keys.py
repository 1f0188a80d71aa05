"""`keyfold keys`: make, list, replace and revoke the access keys of a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    # At run time these wait until a command runs, so that help loads no server.
    from keyfold.wire.server._keyring import AccessKey

app = typer.Typer(
    name="keys",
    help="Make, list, replace and revoke the access keys of `keyfold serve --auth`.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_File = Annotated[Path, typer.Argument(help="The file of access keys.", metavar="FILE")]
_AccessKey = Annotated[str, typer.Argument(help="Which key.", metavar="ACCESS_KEY")]
_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _show_examples(*examples: str) -> str:
    # The leading \b keeps the lines apart where the text is wrapped to the terminal.
    return "\n".join(("\b", "Examples:", *(f"  keyfold keys {each}" for each in examples)))


@app.command(
    epilog=_show_examples(
        "add keys.toml --name ops --admin",
        "add keys.toml --name ada --role customer --id user=ada",
        "add keys.toml --name reports --policy reports.json",
    )
)
def add(
    file: _File,
    *,
    name: Annotated[str, typer.Option(help="Whose it is.", metavar="NAME")],
    role: Annotated[
        str | None, typer.Option(help="A role of the served tables that it acts in.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(help="An IAM policy (JSON) that says what it may do.")
    ] = None,
    admin: Annotated[bool, typer.Option("--admin", help="It may do everything.")] = False,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            help="An id of its own, such as the tenant of its role; a policy has it as "
            "aws:PrincipalTag/NAME. May be given again.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    token: Annotated[
        bool, typer.Option("--token", help="Give it a session token, which requests have to carry.")
    ] = False,
    as_json: _AsJson = False,
) -> None:
    """Make a key, in a file that only you can read; the file is made if it is not there.

    The secret is shown this once. A server that uses the file takes the key at once.
    """
    from datetime import UTC, datetime

    from keyfold.cli._ids import read_ids
    from keyfold.wire.server._keyring import changing_keys, make_key

    given = [
        flag for flag, value in (("role", role), ("policy", policy), ("admin", admin)) if value
    ]
    if len(given) != 1:
        raise typer.BadParameter("give one of --role, --policy and --admin.")
    if policy is not None and not policy.is_file():
        raise typer.BadParameter(f"there is no file {policy}.", param_hint="--policy")
    with changing_keys(str(file)) as keys:
        key = make_key(
            name,
            has_token=token,
            now=datetime.now(UTC),
            role=role,
            policy=None if policy is None else _seen_from(file, policy),
            is_admin=admin,
            ids=read_ids(ids or ()),
        )
        keys[key.access_key] = key
    _show_new(key, file, as_json=as_json)


@app.command("list", epilog=_show_examples("list keys.toml", "list keys.toml --json"))
def list_keys(file: _File, *, as_json: _AsJson = False) -> None:
    """Show whose keys there are and what they may do, and no secrets."""
    from keyfold.wire.server._keyring import read_keys

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


@app.command(epilog=_show_examples("rotate keys.toml AKIA5EXAMPLE"))
def rotate(file: _File, access_key: _AccessKey, *, as_json: _AsJson = False) -> None:
    """Make another key for whoever has this one, with the same rights.

    Both work until the old one is revoked: give out the new one, then `keyfold keys revoke` the
    old. The new secret is shown this once.
    """
    from datetime import UTC, datetime

    from keyfold.wire.server._keyring import changing_keys, renew_key

    with changing_keys(str(file)) as keys:
        old = _find(keys, access_key, file)
        if old.is_disabled:
            fact = f"{access_key} is disabled, and a new key would not be. Take `disabled` out."
            raise typer.BadParameter(fact, param_hint="ACCESS_KEY")
        key = renew_key(old, now=datetime.now(UTC))
        keys[key.access_key] = key
    _show_new(key, file, as_json=as_json)
    if not as_json:
        print(f"{access_key} works until it is revoked: keyfold keys revoke {file} {access_key}")


@app.command(epilog=_show_examples("revoke keys.toml AKIA5EXAMPLE"))
def revoke(file: _File, access_key: _AccessKey, *, as_json: _AsJson = False) -> None:
    """Take a key away. Servers that use the file refuse it from then on."""
    from keyfold.wire.server._keyring import changing_keys

    with changing_keys(str(file)) as keys:
        key = _find(keys, access_key, file)
        del keys[access_key]
    if as_json:
        print(json.dumps({"file": str(file), "revoked": access_key, "name": key.name}, indent=2))
    else:
        print(f"{file}: {access_key}, of {key.name}, is revoked.")


def _find(keys: dict[str, AccessKey], access_key: str, file: Path) -> AccessKey:
    found = keys.get(access_key)
    if found is None:
        known = ", ".join(keys) or "none"
        fact = f"{file} has no key {access_key!r:.80}; it has {known}."
        raise typer.BadParameter(fact, param_hint="ACCESS_KEY")
    return found


def _seen_from(file: Path, policy: Path) -> str:
    """Return the path of a policy as a file of keys names it: from where that file is."""
    import os

    return os.path.relpath(policy.resolve(), file.resolve().parent)


def _describe(key: AccessKey) -> dict[str, Any]:
    rights = {"role": key.role, "policy": key.policy, "admin": key.is_admin, "ids": dict(key.ids)}
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
        told = {**_describe(key), "secret": key.secret}
        if key.token is not None:
            told["token"] = key.token
        print(json.dumps({"file": str(file), **told}, indent=2))
        return
    print(f"{file}: {key.name} has a new key ({key.rights}). Its secret is shown this once:")
    print(f"AWS_ACCESS_KEY_ID={key.access_key}")
    print(f"AWS_SECRET_ACCESS_KEY={key.secret}")
    if key.token is not None:
        print(f"AWS_SESSION_TOKEN={key.token}")
