"""Tables as a stack of the AWS Cloud Development Kit (CDK), in Python.

It has the resources of the CloudFormation template: the constructs of level 1 have a parameter for
each of its properties.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from keyfold.export._cloudformation import make_logical_id, make_resource
from keyfold.export._exported import ExportedDocument, find_unique_gaps
from keyfold.export._resource_names import name_tables, to_camel, to_snake
from keyfold.model import Table

_WIDTH = 88
_INDENT = "    "
_BODY = _INDENT * 2

# The classes of the values of properties, which are those of the members if they are lists.
_CLASSES = {
    name: f"dynamodb.CfnTable.{kind}Property"
    for name, kind in {
        "AttributeDefinitions": "AttributeDefinition",
        "GlobalSecondaryIndexes": "GlobalSecondaryIndex",
        "KeySchema": "KeySchema",
        "LocalSecondaryIndexes": "LocalSecondaryIndex",
        "OnDemandThroughput": "OnDemandThroughput",
        "Projection": "Projection",
        "ProvisionedThroughput": "ProvisionedThroughput",
        "StreamSpecification": "StreamSpecification",
        "TimeToLiveSpecification": "TimeToLiveSpecification",
    }.items()
} | {"Tags": "CfnTag"}


def export_cdk(*tables: Table) -> ExportedDocument:
    """Return a Python module with a CDK stack of the tables; raises DeclarationInvalid.

    `cdk synth --app "python FILE"` makes the resources of `export_cloudformation` of it. A stack has
    an attribute for each table, by which other constructs are granted rights.
    """
    for table in tables:
        table.check()
    named = name_tables(tables, make_logical_id)
    what = f"the table {tables[0].name}" if len(tables) == 1 else f"{len(tables)} tables"
    stack = f"{to_camel(tables[0].name)}Stack" if len(tables) == 1 else "TablesStack"
    imported = ["App", "CfnOutput", "RemovalPolicy", "Stack"]
    if any(table.tags for table in tables):
        imported.insert(2, "CfnTag")
    lines = [
        f'"""A stack with {what}.',
        "",
        "Written by keyfold export cdk. Change the declaration instead.",
        '"""',
        "",
        "from typing import Any",
        "",
        f"from aws_cdk import {', '.join(imported)}",
        "from aws_cdk import aws_dynamodb as dynamodb",
        "from constructs import Construct",
        "",
        "",
        f"class {stack}(Stack):",
        f'{_INDENT}"""{what[:1].upper()}{what[1:]}."""',
        "",
        f"{_INDENT}def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:",
        f"{_BODY}super().__init__(scope, construct_id, **options)",
    ]
    attributes = name_tables(tables, lambda name: f"{to_snake(name)}_table")
    for name, attribute in zip(named, attributes, strict=True):
        lines += ["", *_write_table(name, attribute, named[name])]
    lines += [
        "",
        "",
        'if __name__ == "__main__":',
        f"{_INDENT}app = App()",
        f'{_INDENT}{stack}(app, "{stack}")',
        f"{_INDENT}app.synth()",
    ]
    return ExportedDocument("\n".join(lines) + "\n", tuple(find_unique_gaps(tables)))


@dataclass(frozen=True, slots=True)
class _PythonCall:
    """A call in the source: the function, and its arguments, those by keyword with their names."""

    function: str
    arguments: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class _PythonName:
    """A name or an attribute in the source."""

    text: str


def _write_table(name: str, attribute: str, table: Table) -> Iterator[str]:
    """Yield the statements that make a table, its outputs and the stack's attribute."""
    properties = make_resource(table)["Properties"]
    made = _PythonCall(
        "dynamodb.CfnTable",
        (("", _PythonName("self")), ("", name), *_to_arguments(properties)),
    )
    yield from _write_statement(f"{attribute} = ", made)
    yield f"{_BODY}{attribute}.apply_removal_policy(RemovalPolicy.RETAIN)"
    outputs = {"Name": "ref", "Arn": "attr_arn"}
    if table.stream is not None:
        outputs["StreamArn"] = "attr_stream_arn"
    for suffix, value in outputs.items():
        arguments = (
            ("", _PythonName("self")),
            ("", f"{name}{suffix}"),
            ("value", _PythonName(f"{attribute}.{value}")),
        )
        yield from _write_statement("", _PythonCall("CfnOutput", arguments))
    # The table as constructs of other resources take it, with methods such as grant_read_data.
    known = [("table_arn", _PythonName(f"{attribute}.attr_arn"))]
    if table.stream is not None:
        known.append(("table_stream_arn", _PythonName(f"{attribute}.attr_stream_arn")))
    taken = _PythonCall(
        "dynamodb.Table.from_table_attributes",
        (
            ("", _PythonName("self")),
            ("", f"{name}Reference"),
            *known,
            ("grant_index_permissions", bool(table.indexes)),
        ),
    )
    yield from _write_statement(f"self.{attribute} = ", taken)


def _to_arguments(properties: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((_to_parameter(name), _to_value(name, each)) for name, each in properties.items())


def _to_parameter(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _to_value(name: str, value: Any) -> Any:
    match value:
        case dict():
            return _PythonCall(_CLASSES[name], _to_arguments(cast(dict[str, Any], value)))
        case list():
            return [_to_value(name, each) for each in cast(list[Any], value)]
        case _:
            return value


def _write_statement(start: str, value: Any) -> list[str]:
    return [
        f"{_BODY}{start}{line}" if not n else line
        for n, line in enumerate(_lay_out(value, len(_BODY) + len(start), _BODY, 0))
    ]


def _lay_out(value: Any, used: int, indent: str, after: int) -> list[str]:
    """Return the lines of a value: one if it fits, else one for each member.

    `used` is the width that precedes it, and `after` that of what follows it in its last line.
    """
    whole = _show(value)
    if used + len(whole) + after <= _WIDTH:
        return [whole]
    inner = indent + _INDENT
    match value:
        case _PythonCall(function=function, arguments=arguments):
            members: Sequence[tuple[str, Any]] = arguments
            opening, closing = f"{function}(", ")"
        case list():
            members = [("", each) for each in cast(list[Any], value)]
            opening, closing = "[", "]"
        case _:
            return [whole]
    lines = [opening]
    for name, member in members:
        start = f"{inner}{name}=" if name else inner
        first, *rest = _lay_out(member, len(start), inner, 1)
        lines += [start + first, *rest]
        lines[-1] += ","
    return [*lines, indent + closing]


def _show(value: Any) -> str:
    match value:
        case _PythonName(text=text):
            return text
        case _PythonCall(function=function, arguments=arguments):
            shown = (f"{name}={_show(each)}" if name else _show(each) for name, each in arguments)
            return f"{function}({', '.join(shown)})"
        case list():
            return f"[{', '.join(map(_show, cast(list[Any], value)))}]"
        case str():
            return _quote(value)
        case _:
            return repr(value)


def _quote(text: str) -> str:
    """Return a string literal with the quotes that need fewer escapes, double ones if in doubt."""
    quoted = json.dumps(text, ensure_ascii=False)
    if text.count('"') <= text.count("'"):
        return quoted
    inner = quoted[1:-1].replace('\\"', '"').replace("'", "\\'")
    return f"'{inner}'"
