"""Write the generated parts of the documentation, which stand between two markers.

    python scripts/generate_docs.py            write them
    python scripts/generate_docs.py --check    exit with 1 if that would change a page

A page names the part to insert:

    <!-- generated: commands -->
    <!-- end of generated -->

The pictures of the designs are written, too.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from agent_transcript import write_agent_session, write_agent_story
from compare_calculators import profile_design, write_calculators
from lint_reference import LINT_FAMILIES, write_lint_rules, write_lint_table
from pydantic import ConfigDict
from pydantic_core import PydanticUndefined
from typer.testing import CliRunner

import keyfold
from keyfold import errors
from keyfold.analysis.cost import read_prices, report_cost
from keyfold.analysis.lint import Design, review
from keyfold.api import OPERATIONS
from keyfold.cli import app
from keyfold.cli._tables import DESIGNS
from keyfold.errors import KeyfoldError, ServiceError
from keyfold.export.documents import DesignDocument, describe_design, write_markdown
from keyfold.model._entities import EntityOptions
from keyfold.model._late_methods import LateMethod

ROOT = Path(__file__).resolve().parent.parent
DESIGN_PAGES = ROOT / "docs" / "designs"
PUBLIC_PACKAGES = (
    "keyfold",
    "keyfold.requests",
    "keyfold.model",
    "keyfold.store",
    "keyfold.policy",
    "keyfold.policy.iam",
    "keyfold.keys",
    "keyfold.engine",
    "keyfold.analysis.lint",
    "keyfold.export",
    "keyfold.export.documents",
    "keyfold.imports",
    "keyfold.testing",
    "keyfold.transfer",
    "keyfold.values",
    "keyfold.wire.client",
    "keyfold.wire.server",
)

# The rows of the limits page: what is limited, how to print it, and where the limit is defined,
# which is a constant or the maximum of a shape.
LIMITS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "Values": (
        ("Digits of a number", "{number}", "keyfold.values.numbers.MAX_DIGITS"),
        ("Largest exponent of a number", "{number}", "keyfold.values.numbers.MAX_EXPONENT"),
        ("Smallest exponent of a number", "{number}", "keyfold.values.numbers.MIN_EXPONENT"),
        ("Levels of nesting", "{number}", "keyfold.values.attributes.MAX_NESTING"),
    ),
    "Items": (
        ("Item", "{bytes}", "keyfold.engine.items.writes.MAX_ITEM_BYTES"),
        ("Partition key", "{bytes}", "keyfold.engine.items.keys.MAX_PARTITION_BYTES"),
        ("Sort key", "{bytes}", "keyfold.engine.items.keys.MAX_SORT_BYTES"),
    ),
    "Tables": (
        ("Name of a table", "{number} characters", "TableName"),
        ("Name of an index", "{number} characters", "IndexName"),
        ("Global indexes", "{number}", "keyfold.engine.tables.definitions.MAX_GLOBAL_INDEXES"),
        ("Local indexes", "{number}", "keyfold.engine.tables.definitions.MAX_LOCAL_INDEXES"),
        (
            "Attributes in each side of a global index's key",
            "{number}",
            "keyfold.engine.tables.definitions.MAX_KEY_PARTS",
        ),
        (
            "Attributes that projections name, in all indexes",
            "{number}",
            "keyfold.engine.tables.definitions.MAX_INCLUDED",
        ),
        ("Tags", "{number}", "keyfold.engine.tables.tags.MAX_TAGS"),
        ("Resource policy", "{bytes}", "keyfold.engine.tables.resource_policies.MAX_POLICY_BYTES"),
    ),
    "Vectors": (
        (
            "Vector indexes of a table",
            "{number}",
            "keyfold.engine.vectors.definitions.MAX_VECTOR_INDEXES",
        ),
        ("Dimensions", "{number}", "keyfold.engine.vectors.definitions.MAX_DIMENSIONS"),
        (
            "Inline filters of a vector index",
            "{number}",
            "keyfold.engine.vectors.definitions.MAX_FILTERS",
        ),
        (
            "Attributes that a vector index names",
            "{number}",
            "keyfold.engine.vectors.definitions.MAX_PROJECTED",
        ),
        (
            "Results of SearchVectors",
            "{number}",
            "keyfold.engine.operations.search_vectors.MAX_RESULTS",
        ),
        (
            "Response of SearchVectors",
            "{bytes}",
            "keyfold.engine.operations.search_vectors.MAX_RESPONSE_BYTES",
        ),
    ),
    "Requests": (
        ("Page of a query or scan", "{bytes}", "keyfold.engine.items.reads.PAGE_BYTES"),
        ("Segments of a parallel scan", "{number}", "ScanTotalSegments"),
        ("Keys in BatchGetItem", "{number}", "keyfold.engine.operations.batch_get_item.MAX_KEYS"),
        (
            "Response of BatchGetItem",
            "{bytes}",
            "keyfold.engine.operations.batch_get_item.MAX_BYTES",
        ),
        (
            "Writes in BatchWriteItem",
            "{number}",
            "keyfold.engine.operations.batch_write_item.MAX_WRITES",
        ),
        (
            "Request of BatchWriteItem",
            "{bytes}",
            "keyfold.engine.operations.batch_write_item.MAX_BYTES",
        ),
        ("Reads in TransactGetItems", "{number}", "TransactGetItemList"),
        ("Actions in TransactWriteItems", "{number}", "TransactWriteItemList"),
        (
            "Items of a transaction, together",
            "{bytes}",
            "keyfold.engine.items.transactions.MAX_BYTES",
        ),
        ("PartiQL statement", "{number} characters", "PartiQLStatement"),
        (
            "Keys of an IN for each page of a SELECT",
            "{number}",
            "keyfold.engine.partiql.reading.MAX_PAGE_RANGES",
        ),
        ("Statements in BatchExecuteStatement", "{number}", "PartiQLBatchRequest"),
        ("Statements in ExecuteTransaction", "{number}", "ParameterizedStatements"),
    ),
    "Streams": (
        ("Records of GetRecords", "{number}", "keyfold.engine.operations.get_records.MAX_RECORDS"),
        ("Response of GetRecords", "{bytes}", "keyfold.engine.operations.get_records.MAX_BYTES"),
        (
            "Shards of DescribeStream",
            "{number}",
            "keyfold.engine.operations.describe_stream.PAGE_SHARDS",
        ),
        (
            "Streams of ListStreams",
            "{number}",
            "keyfold.engine.operations.list_streams.PAGE_STREAMS",
        ),
        ("Age of a record", "{number} seconds", "keyfold.engine.streams.change_log.STREAM_SECONDS"),
        (
            "Age of an iterator",
            "{number} seconds",
            "keyfold.engine.streams.iterators.ITERATOR_SECONDS",
        ),
        ("Age of an open shard", "{number} seconds", "keyfold.engine.streams.shards.SHARD_SECONDS"),
    ),
    "Expressions": (
        ("Expression", "{bytes}", "keyfold.expressions.lexer.MAX_EXPRESSION_LENGTH"),
        ("Operators", "{number}", "keyfold.expressions.parser.MAX_OPERATORS"),
        ("Operands of IN", "{number}", "keyfold.expressions.binder.MAX_OPTIONS"),
        ("Levels of a path", "{number}", "keyfold.expressions.placeholders.MAX_PATH_LEVELS"),
        (
            "Placeholder",
            "{number} characters",
            "keyfold.expressions.placeholders.MAX_PLACEHOLDER_LENGTH",
        ),
        (
            "All placeholders' values",
            "{bytes}",
            "keyfold.expressions.placeholders.MAX_SUBSTITUTION_BYTES",
        ),
    ),
}

SECTION = re.compile(
    r"(?P<start><!-- generated: (?P<name>[a-z-]+) -->\n).*?(?P<end><!-- end of generated -->)",
    re.DOTALL,
)


def write_commands() -> str:
    """Show the help of the program and of each command."""
    parts = [
        f"## `keyfold {' '.join(command)}`\n\n```text\n{_help_of(*command)}\n```"
        for command in list_commands(app)
    ]
    return "\n\n".join((f"```text\n{_help_of()}\n```", *parts))


def list_commands(program: typer.Typer, *group: str) -> list[tuple[str, ...]]:
    """List the commands in the order in which help shows them, with those of groups last."""
    found = [
        (*group, command.name or command.callback.__name__)
        for command in program.registered_commands
        if command.callback is not None
    ]
    for each in program.registered_groups:
        assert each.typer_instance is not None  # their functions are always set
        assert isinstance(each.name, str)
        found += list_commands(each.typer_instance, *group, each.name)
    return found


def _help_of(*command: str) -> str:
    result = CliRunner().invoke(
        app, [*command, "--help"], prog_name="keyfold", env={"COLUMNS": "80"}
    )
    return result.output.strip()


def write_own_errors() -> str:
    """Show each of our own errors under its code, with its attributes."""
    parts = [
        f"### `{error.code}`\n\n`keyfold.errors.{error.__name__}`. {_paragraph(error)}"
        f"{_attributes_of(error)}"
        for error in sorted(own_errors(), key=lambda error: error.code)
    ]
    return "\n\n".join(parts)


def _attributes_of(error: type[KeyfoldError]) -> str:
    """Return the sentence that names an error's attributes, and their types."""
    names = getattr(error, "__match_args__", ())
    if not names:
        return ""
    types: dict[str, str] = {}
    for base in reversed(error.__mro__):
        # As written: the modules of the errors have postponed annotations.
        types |= {name: str(kind) for name, kind in inspect.get_annotations(base).items()}
    listed = ", ".join(f"`{name}: {types[name]}`" for name in names)
    return f"\n\nAttributes: {listed}."


def write_service_errors() -> str:
    """Show the service's errors in a table."""
    rows = ["| type | status | when |", "| --- | --- | --- |"]
    rows += (
        f"| `{error.__name__}` | {error.status} | {_paragraph(error)} |"
        for error in sorted(service_errors(), key=lambda error: error.__name__)
    )
    return "\n".join(rows)


def own_errors() -> list[type[KeyfoldError]]:
    """Collect every error that is not the service's."""
    return [error for error in _errors() if not issubclass(error, ServiceError)]


def service_errors() -> list[type[ServiceError]]:
    """Collect every error of the service."""
    return [error for error in _errors() if issubclass(error, ServiceError)]


def _errors() -> list[type[KeyfoldError]]:
    found: list[type[KeyfoldError]] = [getattr(errors, name) for name in errors.__all__]
    return [error for error in found if error not in (KeyfoldError, ServiceError)]


def write_exports() -> str:
    """Show the exports of each public package; shared ones under the first of them."""
    shown: dict[str, str] = {}
    return "\n\n".join(_write_package(name, shown) for name in PUBLIC_PACKAGES)


def _write_package(name: str, shown: dict[str, str]) -> str:
    """Show a package; `shown` maps names that were already shown to their packages."""
    package = importlib.import_module(name)
    exported: list[str] = package.__all__
    parts = [f"## `{name}`\n\n{_paragraph(package)}"]
    for other in dict.fromkeys(shown.values()):
        same = [export for export in exported if shown.get(export) == other]
        if same:
            listed = ", ".join(f"`{export}`" for export in same)
            parts.append(f"Exports these too, which are described under `{other}`: {listed}.")
    for export in exported:
        if export not in shown:
            parts.append(_write_export(export, getattr(package, export)))
            shown[export] = name
    return "\n\n".join(parts)


def _write_export(name: str, thing: object) -> str:
    if inspect.isclass(thing):
        return "\n\n".join((f"### `{name}`", _document(thing), *_write_members(thing)))
    if inspect.isroutine(thing):
        return f"### `{_signature(name, thing)}`\n\n{_document(thing)}"
    if isinstance(thing, int | str):
        return f"### `{name}`\n\nThe value `{thing!r}`."
    if get_origin(thing) is Literal:
        return f"### `{name}`\n\nOne of {', '.join(f'`{each!r}`' for each in get_args(thing))}."
    if get_origin(thing) is Annotated:
        base, *marks = get_args(thing)
        return f"### `{name}`\n\nOf type `{base.__name__}`. {_paragraph(marks[-1])}"
    if type(thing).__module__.startswith("keyfold."):
        return f"### `{name}`\n\nOf type `{type(thing).__name__}`. {_paragraph(thing)}"
    return f"### `{name}`\n\nA type, for annotations."


def _write_members(owner: type) -> Iterator[str]:
    for name, declared in _members_of(owner).items():
        member = getattr(owner, name)
        if name.startswith("_"):
            continue
        if isinstance(declared, LateMethod):
            signature = _signature(f"{owner.__name__}.{name}", declared.__get__(owner, owner))
            yield f"#### `{signature}`\n\n`keyfold.{name}` for this {owner.__name__.lower()} alone."
        elif isinstance(declared, property):
            yield f"#### `{owner.__name__}.{name}`\n\n{_document(declared)}"
        elif inspect.isroutine(member):
            signature = _signature(f"{owner.__name__}.{name}", member)
            yield f"#### `{signature}`\n\n{_document(member)}"


def _members_of(owner: type) -> dict[str, Any]:
    """Return the members that a class declares, itself or in bases that are not shown."""
    members = dict(vars(owner))
    bases = [base for base in owner.__mro__[1:] if base.__module__.startswith("keyfold.")]
    hidden = [base for base in bases if base not in _exported_classes()]
    elsewhere = {name for base in bases if base not in hidden for name in vars(base)}
    for base in hidden:
        for name, declared in vars(base).items():
            if name not in elsewhere:
                members.setdefault(name, declared)
    return members


@cache
def _exported_classes() -> frozenset[type]:
    exported: dict[str, object] = {}
    for package in (importlib.import_module(name) for name in PUBLIC_PACKAGES):
        for name in package.__all__:
            # Of classes that share a name, the first is shown.
            exported.setdefault(name, getattr(package, name))
    return frozenset(each for each in exported.values() if inspect.isclass(each))


def _signature(name: str, function: Callable[..., object]) -> str:
    parameters = [
        parameter.replace(
            annotation=inspect.Parameter.empty, default=_readable_default(parameter.default)
        )
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "self"
    ]
    return f"{name}{inspect.Signature(parameters)}"


class _Named:
    """A function as a default value: shown by its name, not by its address."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.name = f"{function.__module__}.{function.__qualname__}"

    def __repr__(self) -> str:
        return self.name


def _readable_default(default: object) -> object:
    return _Named(default) if inspect.isroutine(default) else default


def _docstring(thing: object) -> str:
    documented = inspect.getdoc(thing)
    assert documented, f"{thing!r} has no docstring"
    return documented


def _paragraph(thing: object) -> str:
    """Take the first paragraph of a docstring, in one line."""
    return " ".join(_docstring(thing).split("\n\n")[0].split())


def _document(thing: object) -> str:
    """Turn a whole docstring into Markdown: paragraphs in one line, examples fenced."""
    return "\n\n".join(
        f"```pycon\n{paragraph}\n```"
        if paragraph.startswith(">>>")
        else " ".join(paragraph.split())
        for paragraph in _docstring(thing).split("\n\n")
    )


def write_signature(name: str) -> str:
    """Show the signature of a class or function of `keyfold`, one parameter a line, with types."""
    parameters = inspect.signature(getattr(keyfold, name)).parameters.values()
    lines = (f"{name}(", *_write_parameters(list(parameters)), ")")
    return "```text\n" + "\n".join(lines) + "\n```"


def write_class_statement() -> str:
    """Show the class statement of an entity with its options, without those of pydantic."""
    options = inspect.get_annotations(EntityOptions)
    listed = [
        f"    {name}: {kind.__forward_arg__},"
        for name, kind in options.items()
        if name not in ConfigDict.__annotations__
    ]
    lines = ("class Name(", "    Entity,", *listed, "    **options of pydantic's ConfigDict,", "):")
    return "```text\n" + "\n".join(lines) + "\n```"


def _write_parameters(parameters: list[inspect.Parameter]) -> Iterator[str]:
    is_keyword = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not is_keyword:
            is_keyword = True
            yield "    *,"
        star = "**" if each.kind is each.VAR_KEYWORD else ""
        default = "" if each.default is each.empty else f" = {each.default!r}"
        default = default.replace(repr(PydanticUndefined), "...")
        yield f"    {star}{each.name}: {each.annotation}{default},"


def write_limits() -> str:
    """Show every limit, by subject."""
    parts: list[str] = []
    for subject, limits in LIMITS.items():
        rows = [f"## {subject}\n", "| what | limit |", "| --- | --- |"]
        for what, shown, source in limits:
            value = _read_limit(source)
            rows.append(f"| {what} | {shown.format(bytes=_size(value), number=f'{value:,}')} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def _read_limit(source: str) -> int:
    module, _, name = source.rpartition(".")
    if module:
        value = getattr(importlib.import_module(module), name, None)
        if value is None:
            sys.exit(f"generate_docs.py: LIMITS names {source}, which is not there any more")
        return value
    model = json.loads((ROOT / "src/keyfold/api/shapes/model.json").read_text("utf-8"))
    return model["shapes"][name]["constraints"]["max"]


def _size(size_bytes: int) -> str:
    for unit, name in ((1 << 20, "MB"), (1 << 10, "KB")):
        if size_bytes >= 10 * unit or (size_bytes >= unit and unit == 1 << 20):
            return f"{size_bytes // unit:,} {name}"
    return f"{size_bytes:,} bytes"


def write_operations() -> str:
    """Show the supported operations, by subject."""
    scenarios = json.loads((ROOT / "tests/operations/scenarios.json").read_text("utf-8"))
    rows = ["| group | answered |", "| --- | --- |"]
    for group, operations in scenarios["groups"].items():
        answered = [f"`{name}`" for name in operations if name in OPERATIONS]
        rows.append(f"| {group} | {', '.join(answered)} |")
    return "\n".join(rows)


def write_differences() -> str:
    """Show how other engines differ from the service, and how many tests show it."""
    files = sorted((ROOT / "tests/endpoints/differences").glob("*.json"))
    # What applies to all engines comes first.
    files.sort(key=lambda file: file.stem != "every")
    rows = ["| engine | difference | tests |", "| --- | --- | --- |"]
    for file in files:
        listed = json.loads(file.read_text("utf-8"))
        rows += [
            f"| {listed['title']} | {each['reason']} | {len(each['tests'])} |"
            for each in listed["differences"]
        ]
    return "\n".join(rows)


@cache
def describe(design: str) -> DesignDocument:
    """Return the document of an included design, as `keyfold doc` does."""
    profile = profile_design(design)
    findings = review(Design(profile.table, profile.workload, profile))
    return describe_design(profile, findings, report_cost(profile, read_prices()))


def write_design(design: str) -> str:
    """Show the document of a design, below the headings of its page."""
    document = describe(design)
    links = {picture.file: picture.file for picture in document.pictures}
    return write_markdown(document, pictures=links, level=2, with_title=False).rstrip()


def pictures() -> dict[Path, str]:
    """Return the pictures of the designs' pages, by file."""
    return {
        DESIGN_PAGES / picture.file: picture.svg
        for design in DESIGNS
        for picture in describe(design).pictures
    }


def write_prices() -> str:
    """Show the included prices, which are an example of a file of prices."""
    file = ROOT / "src/keyfold/analysis/cost/prices.toml"
    return f"\n```toml\n{file.read_text('utf-8')}```"


WRITERS: dict[str, Callable[[], str]] = {
    "calculators": cache(write_calculators),
    "prices": write_prices,
    "differences": write_differences,
    "agent-session": write_agent_session,
    "agent-story": write_agent_story,
    "commands": write_commands,
    "own-errors": write_own_errors,
    "class-statement": write_class_statement,
    "signature-attr": partial(write_signature, "attr"),
    "signature-index": partial(write_signature, "Index"),
    "signature-key": partial(write_signature, "Key"),
    "signature-part": partial(write_signature, "part"),
    "signature-role": partial(write_signature, "Role"),
    "signature-table": partial(write_signature, "Table"),
    "service-errors": write_service_errors,
    "exports": write_exports,
    "limits": write_limits,
    "lint-rules": write_lint_table,
    **{f"lint-{family}": partial(write_lint_rules, family) for family in LINT_FAMILIES},
    "operations": write_operations,
    **{f"design-{name.replace('_', '-')}": partial(write_design, name) for name in DESIGNS},
}


def pages() -> list[Path]:
    """List the pages that may hold generated parts."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def renew(text: str) -> str:
    """Return a page with every generated part updated."""

    def write(section: re.Match[str]) -> str:
        content = WRITERS[section["name"]]()
        return f"{section['start']}\n{content}\n\n{section['end']}"

    return SECTION.sub(write, text)


def main() -> int:
    """Write or check every page; return the exit code."""
    parser = argparse.ArgumentParser(description="Write the generated parts of the documentation.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if stale")
    is_check: bool = parser.parse_args().check
    wanted = {page: renew(page.read_text("utf-8")) for page in pages()} | pictures()
    stale = [
        file
        for file, text in wanted.items()
        if not file.exists() or file.read_text("utf-8") != text
    ]
    for file in stale:
        if is_check:
            print(f"{file.relative_to(ROOT)} is stale; run `make docs`.", file=sys.stderr)
        else:
            file.write_text(wanted[file], "utf-8")
            print(f"wrote {file.relative_to(ROOT)}")
    # Pictures of indexes that are no longer declared.
    left_over = [file for file in DESIGN_PAGES.glob("*.svg") if file not in wanted]
    for file in left_over:
        if is_check:
            print(f"{file.relative_to(ROOT)} is stale; run `make docs`.", file=sys.stderr)
        else:
            file.unlink()
            print(f"deleted {file.relative_to(ROOT)}")
    return int(is_check and bool(stale or left_over))


if __name__ == "__main__":
    sys.exit(main())
