"""The calls of a request as commands of a shell: the AWS CLI, and curl of the table's service."""

from __future__ import annotations

import shlex
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import quote

import orjson
from pydantic_core import to_jsonable_python

from keyfold.model._secrets import is_secret
from keyfold.service._endpoints import PatternEndpoint
from keyfold.store import Handles
from keyfold.studio.rooms._code_layout import comment
from keyfold.studio.rooms._code_plans import CodePlan, CodeStep, FoundValue, NowValue, find_values
from keyfold.studio.rooms._code_python import find_table
from keyfold.studio.rooms._code_targets import CodeTarget

_COMMANDS = {
    "Query": "query",
    "Scan": "scan",
    "GetItem": "get-item",
    "PutItem": "put-item",
    "UpdateItem": "update-item",
    "DeleteItem": "delete-item",
    "BatchGetItem": "batch-get-item",
    "BatchWriteItem": "batch-write-item",
    "TransactGetItems": "transact-get-items",
    "TransactWriteItems": "transact-write-items",
}
_FLAGS = {"ConsistentRead": "--consistent-read"}
_HIDDEN = "SECRET"
_PORT = 8080


def write_cli(target: CodeTarget, plan: CodePlan) -> str:
    """Return the commands of the AWS CLI; what one found is handed to the next by jq."""
    notes = [*plan.notes, *_describe_rest(plan), *([plan.problem] if plan.problem else [])]
    blocks = ["\n".join(comment(notes))] if notes else []
    if plan.uses_now:
        blocks.append("now=$(date +%s)")
    for place, step in enumerate(plan.steps):
        is_last = place == len(plan.steps) - 1
        command = _join(_list_arguments(target, step, is_last=is_last))
        if is_last:
            blocks.append(command)
        else:
            inner = command.replace("\n", "\n  ")
            blocks.append(f"found=$(\n  {inner}\n)")
    return "\n\n".join(blocks) + "\n"


def _describe_rest(plan: CodePlan) -> Iterator[str]:
    """Yield what is left to whoever reads the output."""
    for step in plan.steps:
        for attribute, pattern in step.patterns:
            yield f"Items of other entities lie between: keep those whose {attribute} is {pattern}"
        if step.types is not None:
            yield f"Keep the items whose {step.types[0]} is {' or '.join(step.types[1])}."
    ttl = next((each.ttl for each in plan.steps if each.ttl is not None), None)
    if ttl is not None:
        yield f"Leave out items whose {ttl} has passed: they have expired."


def _list_arguments(target: CodeTarget, step: CodeStep, *, is_last: bool) -> Iterator[str]:
    yield f"aws dynamodb {_COMMANDS[step.operation]}"
    if target.region is not None:
        yield f"--region {shlex.quote(target.region)}"
    if target.endpoint is not None:
        yield f"--endpoint-url {shlex.quote(target.endpoint)}"
    for name, value in target.rename(step.body).items():
        match name:
            case "ScanIndexForward":
                yield "--no-scan-index-forward"
            case "ConsistentRead":
                yield _FLAGS[name]
            case "Limit":
                # As many items in all: the CLI itself reads page after page.
                yield f"--max-items {value}"
            case _:
                yield f"--{_to_kebab(name)} {_write_argument(value, is_each=step.is_each)}"
    if step.result == "item" and step.operation in ("Query", "Scan"):
        yield "--query 'Items[0]'"
    elif step.result == "item" and step.operation == "GetItem":
        yield "--query Item"
    elif step.result == "count":
        yield "--select COUNT --query Count"
    elif not is_last:
        yield "--query Items"
    if not is_last:
        yield "--output json"


def _to_kebab(name: str) -> str:
    return "".join(f"-{each.lower()}" if each.isupper() else each for each in name).lstrip("-")


def _write_argument(value: Any, *, is_each: bool) -> str:
    if isinstance(value, str) and not is_secret(value):
        return shlex.quote(value)
    if not isinstance(value, dict | list):
        return shlex.quote(str(value))
    later = [*find_values(value)]
    if not later and not _has_secret(value):
        return shlex.quote(_write_json(value))
    options: list[str] = []
    if any("found" in each for each in later):
        options.append('--argjson found "$found"')
    if any("now" in each for each in later):
        options.append('--argjson now "$now"')
    if _has_secret(value):
        options.append(f'--arg secret "${_HIDDEN}"')
    program = _write_jq(value, is_each=is_each)
    return f'"$(jq -nc {" ".join(options)} {shlex.quote(program)})"'


def _has_secret(value: Any) -> bool:
    if is_secret(value):
        return True
    if isinstance(value, dict):
        return any(map(_has_secret, cast("dict[str, Any]", value).values()))
    return isinstance(value, list) and any(map(_has_secret, cast("list[Any]", value)))


def _write_json(value: Any) -> str:
    return orjson.dumps(value, default=_write_binary).decode()


def _write_binary(value: Any) -> Any:
    return b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _write_jq(value: Any, *, is_each: bool) -> str:
    """Return a program of jq that makes a value, whose members may be of what was found."""
    match value:
        case {"found": FoundValue() as found}:
            source = "$each" if found.is_each else "$found"
            if found.attribute is not None:
                return f"{source}{_path(found.attribute)}"
            pieces = [
                f"{source}{_path(each)}.S" if place % 2 else _write_json(each)
                for place, each in enumerate(found.pieces)
                if each
            ]
            return f'{{"S": ({" + ".join(pieces)})}}'
        case {"now": NowValue(more)}:
            moment = f"$now + {more}" if more else "$now"
            return f'{{"N": ({moment} | tostring)}}'
        case {"Keys": list()} if is_each:
            keys: list[Any] = cast("dict[str, Any]", value)["Keys"]
            inner = _write_jq(keys[0], is_each=is_each)
            rest = {
                name: each for name, each in cast("dict[str, Any]", value).items() if name != "Keys"
            }
            more = "".join(
                f", {_write_json(name)}: {_write_json(each)}" for name, each in rest.items()
            )
            return f'{{"Keys": ([$found[] as $each | {inner}] | unique){more}}}'
        case dict():
            members = cast("dict[str, Any]", value).items()
            inner = ", ".join(
                f"{_write_json(name)}: {_write_jq(each, is_each=is_each)}" for name, each in members
            )
            return f"{{{inner}}}"
        case list():
            inner = ", ".join(_write_jq(each, is_each=is_each) for each in cast("list[Any]", value))
            return f"[{inner}]"
        case _ if is_secret(value):
            return "$secret"
        case _:
            return _write_json(value)


def _path(attribute: str) -> str:
    return f"[{_write_json(attribute)}]"


def _join(arguments: Iterator[str]) -> str:
    return " \\\n  ".join(arguments)


def write_curl(
    target: CodeTarget,
    endpoint: PatternEndpoint,
    arguments: Mapping[str, Any],
    handles: Handles | None,
) -> str:
    """Return the request to the service of the table; end users give handles instead of ids."""
    given = to_jsonable_python(dict(arguments), by_alias=True, bytes_mode="base64")
    if handles is not None:
        given = handles.show_json(given)
    path, rest = _fill_path(endpoint.path, given)
    url = f"http://127.0.0.1:{_PORT}{path}"
    lines = [f"curl {shlex.quote(url)}"]
    if endpoint.method == "GET":
        pairs = [*_list_parameters(rest)]
        if pairs:
            lines = [f"curl -G {shlex.quote(url)}"]
            lines += [f"--data-urlencode {shlex.quote(f'{name}={text}')}" for name, text in pairs]
    else:
        lines.append("-H 'Content-Type: application/json'")
        lines.append(f"-d {shlex.quote(_write_json(rest))}")
    served, header = _describe_service(target)
    lines += header
    return "\n".join([*comment([served]), _join(iter(lines))]) + "\n"


def _describe_service(target: CodeTarget) -> tuple[str, list[str]]:
    """Return how the service is started, and the header with the caller's token, if it needs one."""
    found = find_table(target.table)
    named = ":".join(found) if found else "tables:table"
    command = f"keyfold api --table {named} --db {shlex.quote(target.url or 'data.db')}"
    principal = target.principal
    if principal is not None:
        roles = "".join(f" --as {shlex.quote(each)}" for each in principal.roles)
        ids = "".join(
            f" --id {shlex.quote(f'{name}={value}')}" for name, value in principal.ids.items()
        )
        return f"The service runs with: {command}{roles}{ids}", []
    header = '-H "Authorization: Bearer $TOKEN"'
    return f"The service runs with: {command} --auth auth.toml", [header]


def _fill_path(path: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a path with the arguments that it names, and the other arguments."""
    rest = dict(given)
    for name in given:
        place = f"{{{name}}}"
        if place in path:
            path = path.replace(place, quote(str(rest.pop(name)), safe=""))
    return path, rest


def _list_parameters(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in given.items():
        if value is None:
            continue
        values: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
        for each in values:
            yield name, each if isinstance(each, str) else _write_json(each)
