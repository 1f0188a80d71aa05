"""Writes the Python client of a service: one module, with a method for each pattern.

The module is `_client_runtime.py`, then the models of the service's values, then the client's class.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files

from keyfold.model import Table
from keyfold.service._client_types import WIDTH, ClientTypes, make_client_types, write_docstring
from keyfold.service._endpoints import (
    EndpointParameter,
    PatternEndpoint,
    make_endpoints,
    to_camel,
)
from keyfold.service._openapi import SchemaBook, has_tag

_RUNTIME = "_client_runtime.py"
_NOQA = re.compile(r"  # noqa: [A-Z0-9, ]+(?: - [^#\n]*)?$", re.MULTILINE)
_PLACE = re.compile(r"\{(\w+)\}")
# Methods that all clients have, and names that annotations in the class need.
_METHODS = {"close", "list", "dict", "set", "tuple", "str", "int", "float", "bool", "bytes"}


def write_client(table: Table) -> str:
    """Return the module of a client for a table's service; raises DeclarationInvalid."""
    endpoints = make_endpoints(table)
    runtime = ast.parse(_read_runtime())
    book = SchemaBook(endpoints.values())
    name = f"{to_camel(table.name)}Client"
    types = make_client_types(book.definitions, {*_list_names(runtime), name})
    writer = _MethodWriter(book, types)
    methods = [line for each in endpoints.values() for line in writer.write(each)]
    models = [*types.write_models()]
    lines = [
        f'"""A client of the service of {table.name}: one method for each access pattern.',
        "",
        "Written by keyfold export client. Change the declaration instead.",
        '"""',
        "",
        *_write_imports(runtime, types.imports),
        "",
        _read_runtime_body(runtime),
        *models,
        "",
        "",
        *writer.adapters,
        "",
        "",
        f"class {name}(PatternClient):",
        f'    """Calls the access patterns of {table.name}."""',
        *methods,
    ]
    return "\n".join(lines).rstrip() + "\n"


class _MethodWriter:
    """Writes the methods of a client, and collects what parses their results."""

    def __init__(self, book: SchemaBook, types: ClientTypes) -> None:
        self._book, self._types = book, types
        self.adapters: list[str] = []

    def write(self, endpoint: PatternEndpoint) -> Iterator[str]:
        """Yield the lines of an endpoint's method."""
        adapter = f"_{endpoint.name.upper()}"
        result, parsed = self._find_types(endpoint)
        line = f"{adapter}: TypeAdapter[{parsed}] = TypeAdapter({parsed})"
        if len(line) > WIDTH:
            line = f"{adapter}: TypeAdapter[{parsed}] = TypeAdapter(\n    {parsed}\n)"
        self.adapters.append(line)
        required = [each for each in endpoint.parameters if each.is_required]
        optional = [each for each in endpoint.parameters if not each.is_required]
        if endpoint.continues:
            # The service's own parameters replace what the pattern continues by.
            optional = [each for each in optional if each.name != endpoint.cursor]
        names = {each.name: _name_parameter(each.name) for each in endpoint.parameters}
        own = _name_own(endpoint, {*names.values()})
        given = [f"{names[each.name]}: {self._annotate(endpoint, each)}" for each in required]
        keywords = [
            f"{names[each.name]}: {_optional(self._annotate(endpoint, each))} = None"
            for each in optional
        ]
        keywords += [
            f"{shown}: {'int' if name == 'page_size' else 'str'} | None = None"
            for name, shown in own.items()
        ]
        signature = ["self", *given, *(["*"] if keywords else []), *keywords]
        yield ""
        yield from _write_signature(
            endpoint.name + ("_" if endpoint.name in _METHODS else ""), signature, result
        )
        yield from (f"        {line}".rstrip() for line in write_docstring(endpoint.description))
        in_path = {*_PLACE.findall(endpoint.path)}
        sent = [
            f'"{each.name}": {names[each.name]}' for each in required if each.name not in in_path
        ]
        more = [f"{each.name}={names[each.name]}" for each in optional]
        members = [*sent, *([_write_given(more)] if more else [])]
        arguments = _write_members(members)
        path = _write_path(endpoint, names)
        yield from _write_call(
            f"        return self.{self._choose(endpoint, result)}",
            [path, adapter, arguments, *own.values()],
        )

    def _find_types(self, endpoint: PatternEndpoint) -> tuple[str, str]:
        """Return the type of a method's result, and the type of what the service answers."""
        found = self._types.annotate(self._book.of_result(endpoint))
        if endpoint.is_page:
            member = found.removeprefix("list[").removesuffix("]")
            return f"Results[{member}]", f"ResultPage[{member}]"
        if found != "None" and found.endswith(" | None"):
            return found, found.removesuffix(" | None")
        return found, found

    def _choose(self, endpoint: PatternEndpoint, result: str) -> str:
        """Return the method of the runtime that calls an endpoint."""
        if endpoint.is_page:
            return "_list"
        may_be_nothing = self._types.may_be_nothing(result)
        if result.startswith("list[") and not may_be_nothing:
            return "_change_all" if endpoint.writes else "_find_all"
        if endpoint.writes:
            return "_change" if may_be_nothing else "_write"
        return "_find" if may_be_nothing else "_read"

    def _annotate(self, endpoint: PatternEndpoint, parameter: EndpointParameter) -> str:
        return self._types.annotate(self._book.of_argument(endpoint, parameter.name))


def _name_parameter(name: str) -> str:
    return "self_" if name == "self" else name


def _name_own(endpoint: PatternEndpoint, taken: set[str]) -> dict[str, str]:
    """Return the parameters that a client adds to a pattern's; an underscore tells equal ones apart."""
    if endpoint.is_page:
        own = ["page_size", "resume"]
    elif endpoint.writes:
        own = ["idempotency_key", *(["if_match"] if has_tag(endpoint) else [])]
    else:
        own = []
    return {each: f"{each}_" if each in taken else each for each in own}


def _optional(annotation: str) -> str:
    is_optional = annotation == "Any" or annotation.endswith("| None")
    return annotation if is_optional else f"{annotation} | None"


def _write_path(endpoint: PatternEndpoint, names: Mapping[str, str]) -> str:
    if "{" not in endpoint.path:
        return f'"{endpoint.path}"'
    path = _PLACE.sub(lambda found: f"{{self._segment({names[found[1]]})}}", endpoint.path)
    return f'f"{path}"'


def _write_signature(name: str, parameters: list[str], result: str) -> Iterator[str]:
    line = f"    def {name}({', '.join(parameters)}) -> {result}:"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"    def {name}("
    yield from (f"        {each}," for each in parameters)
    yield f"    ) -> {result}:"


def _write_call(start: str, arguments: list[str]) -> Iterator[str]:
    line = f"{start}({', '.join(arguments)})"
    if len(line) <= WIDTH and "\n" not in line:
        yield line
        return
    yield f"{start}("
    yield from (f"            {each}," for each in arguments)
    yield "        )"


def _write_given(arguments: list[str]) -> str:
    line = f"**self._given({', '.join(arguments)})"
    if len(line) + 17 <= WIDTH:
        return line
    inner = ", ".join(arguments)
    if len(inner) + 20 > WIDTH:
        inner = ",\n                    ".join(arguments) + ","
    return f"**self._given(\n                    {inner}\n                )"


def _write_members(members: list[str]) -> str:
    """Return a dictionary, as an argument in a line of its own."""
    line = "{" + ", ".join(members) + "}"
    if "\n" not in line and len(line) + 13 <= WIDTH:
        return line
    return "{\n" + "".join(f"                {each},\n" for each in members) + "            }"


def _read_runtime() -> str:
    text = files("keyfold.service").joinpath(_RUNTIME).read_text("utf-8")
    # Comments for the linter of this package.
    return _NOQA.sub("", text)


def _read_runtime_body(runtime: ast.Module) -> str:
    """Return the runtime without its docstring and imports."""
    last = max(each.end_lineno or 0 for each in runtime.body if _is_import(each))
    lines = _read_runtime().splitlines()[last:]
    return "\n".join(lines).strip()


def _list_names(runtime: ast.Module) -> Iterator[str]:
    """Yield the names that the runtime defines or imports."""
    for node in runtime.body:
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (each.asname or each.name for each in names)
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case _:
                pass


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _write_imports(runtime: ast.Module, more: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield the import statements of the runtime and of annotations."""
    plain: set[str] = set()
    named: dict[str, set[str]] = {name: {*names} for name, names in more.items()}
    for node in runtime.body:
        if isinstance(node, ast.Import):
            plain |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {each.name for each in node.names}
            named[str(node.module)] = named.get(str(node.module), set()) | names
    future = named.pop("__future__")
    yield f"from __future__ import {', '.join(sorted(future))}"
    yield ""
    yield from (f"import {each}" for each in sorted(plain))
    own = [each for each in sorted(named) if each.startswith("pydantic")]
    others = [each for each in sorted(named) if each not in own]
    yield from (_write_import(each, named[each]) for each in others)
    yield ""
    yield from (_write_import(each, named[each]) for each in own)


def _write_import(module: str, names: Iterable[str]) -> str:
    ordered = sorted(names, key=lambda each: (not each.isupper(), each[0].islower(), each))
    line = f"from {module} import {', '.join(ordered)}"
    if len(line) <= WIDTH:
        return line
    return f"from {module} import (\n" + "".join(f"    {each},\n" for each in ordered) + ")"
