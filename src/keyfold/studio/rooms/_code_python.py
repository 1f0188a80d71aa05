"""Python code of values, and of the call of a pattern with Keyfold."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, cast, get_origin
from uuid import UUID

from pydantic import BaseModel, SecretBytes, SecretStr

from keyfold.keys import Ulid
from keyfold.model import Page, Pattern, Table
from keyfold.model._pattern_types import find_request_type, find_result_type
from keyfold.model._secrets import is_secret
from keyfold.studio.rooms._code_layout import WIDTH, comment, indent, lay_out
from keyfold.studio.rooms._code_targets import CodeTarget

# Stands for a secret, which no code shows.
_HIDDEN = 'os.environ["SECRET"]'


@dataclass(slots=True)
class PythonWriter:
    """Writes values as Python code, and collects what has to be imported."""

    modules: set[str] = field(default_factory=set[str])
    names: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def use(self, module: str, name: str | None = None) -> str:
        """Import a module, or a name of it; return how the code calls it."""
        if name is None:
            self.modules.add(module)
            return module
        self.names.setdefault(module, set()).add(name)
        return name

    def write_imports(self) -> list[str]:
        """Return the lines that import what is used: the standard library's first."""
        lines = [(module, f"import {module}") for module in self.modules]
        for module, names in self.names.items():
            line = f"from {module} import {', '.join(sorted(names))}"
            if len(line) > WIDTH:
                line = lay_out(f"from {module} import (", sorted(names), ")")
            lines.append((module, line))
        groups: list[list[tuple[str, str]]] = [[], []]
        for module, line in lines:
            groups[module.partition(".")[0] not in sys.stdlib_module_names].append((module, line))
        found: list[str] = []
        for group in groups:
            # Plain imports before others, as formatters sort them.
            ordered = sorted(group, key=lambda each: (each[1].startswith("from"), each[0]))
            found += ([""] if found and ordered else []) + [line for _, line in ordered]
        return found

    def write(self, value: Any, width: int = WIDTH) -> str:
        """Return the code of a value."""
        match value:
            case BaseModel():
                return self._write_model(value, width)
            case Enum():
                return f"{self._name(type(value))}.{value.name}"
            case Ulid():
                return f"{self._name(type(value))}({quote(str(value))})"
            case SecretStr() | SecretBytes():
                self.use("os")
                name = self.use("pydantic", type(value).__name__)
                text = _HIDDEN if isinstance(value, SecretStr) else f"{_HIDDEN}.encode()"
                return f"{name}({text})"
            case bool() | int() | float() | bytes() | None:
                return repr(value)
            case str():
                return quote(value)
            case Decimal():
                return f"{self.use('decimal', 'Decimal')}({quote(str(value))})"
            case datetime():
                return self._write_time(value)
            case date():
                found = f"{value.year}, {value.month}, {value.day}"
                return f"{self.use('datetime', 'date')}({found})"
            case timedelta():
                return self._write_duration(value)
            case UUID():
                return f"{self.use('uuid', 'UUID')}({quote(str(value))})"
            case Mapping():
                pairs = cast("Mapping[Any, Any]", value).items()
                inner = [
                    f"{self.write(name)}: {self.write(each, width - 4)}" for name, each in pairs
                ]
                return lay_out("{", inner, "}", width)
            case set() | frozenset():
                members = sorted(map(self.write, cast("set[Any]", value)))
                text = lay_out("{", members, "}", width) if members else "set()"
                return f"frozenset({text})" if isinstance(value, frozenset) else text
            case tuple():
                members = [self.write(each, width - 4) for each in cast("tuple[Any, ...]", value)]
                return (
                    f"({members[0]},)" if len(members) == 1 else lay_out("(", members, ")", width)
                )
            case list():
                inner = [self.write(each, width - 4) for each in cast("list[Any]", value)]
                return lay_out("[", inner, "]", width)
            case _:
                return repr(value)

    def write_stored(self, value: Mapping[str, Any], width: int = WIDTH) -> str:
        """Return the code of an attribute value as boto3's resources take it."""
        ((kind, data),) = value.items()
        if is_secret(data):
            self.use("os")
            return _HIDDEN if kind == "S" else f"{_HIDDEN}.encode()"
        match kind:
            case "S":
                return quote(data)
            case "N":
                return self._write_number(str(data))
            case "B":
                return repr(bytes(data))
            case "SS" | "NS" | "BS":
                members = [self.write_stored({kind[0]: each}) for each in data]
                return lay_out("{", members, "}", width)
            case "L":
                members = [self.write_stored(each, width - 4) for each in data]
                return lay_out("[", members, "]", width)
            case "M":
                members = [
                    f"{quote(name)}: {self.write_stored(each, width - 4)}"
                    for name, each in data.items()
                ]
                return lay_out("{", members, "}", width)
            case "NULL":
                return "None"
            case _:
                return repr(data)

    def _write_number(self, text: str) -> str:
        if text.removeprefix("-").isdecimal():
            return str(int(text))
        return f"{self.use('decimal', 'Decimal')}({quote(text)})"

    def _write_time(self, value: datetime) -> str:
        name = self.use("datetime", "datetime")
        parts = [value.year, value.month, value.day, value.hour, value.minute]
        if value.second or value.microsecond:
            parts.append(value.second)
        if value.microsecond:
            parts.append(value.microsecond)
        shown = ", ".join(map(str, parts))
        if value.tzinfo is None:
            return f"{name}({shown})"
        offset = value.utcoffset()
        if not offset:
            return f"{name}({shown}, tzinfo={self.use('datetime', 'UTC')})"
        zone = f"{self.use('datetime', 'timezone')}({self._write_duration(offset)})"
        return f"{name}({shown}, tzinfo={zone})"

    def _write_duration(self, value: timedelta) -> str:
        name = self.use("datetime", "timedelta")
        parts = ("days", "seconds", "microseconds")
        given = [f"{each}={getattr(value, each)}" for each in parts if getattr(value, each)]
        return f"{name}({', '.join(given)})"

    def _write_model(self, value: BaseModel, width: int) -> str:
        kind = type(value)
        name = self._name(kind)
        fields = kind.model_fields
        members: dict[str, Any] = {
            each: getattr(value, each)
            for each, declared in fields.items()
            # What is None by default need not be said.
            if each in value.model_fields_set
            and not (getattr(value, each) is None and declared.default is None)
        }
        members |= value.model_extra or {}
        is_plain = all(each.isidentifier() for each in members) and not any(
            fields[each].alias and not kind.model_config.get("populate_by_name")
            for each in members
            if each in fields
        )
        if is_plain:
            inner = [f"{each}={self.write(held, width - 4)}" for each, held in members.items()]
            return lay_out(f"{name}(", inner, ")", width)
        named = {
            (fields[each].alias or each) if each in fields else each: held
            for each, held in members.items()
        }
        return f"{name}.model_validate({self.write(named, width)})"

    def _name(self, kind: type[Any]) -> str:
        """Import a class from the module that exports it; return its name."""
        name = kind.__name__
        module = find_export(kind.__module__, name, kind)
        if module is not None:
            self.use(module, name)
        return name


def quote(text: str) -> str:
    """Return a text as a literal with double quotes, as formatters write it.

    >>> print(quote("ada"), quote('say "hi"'))
    "ada" 'say "hi"'
    """
    written = repr(str.__str__(text))
    if written.startswith("'") and '"' not in written and "\\'" not in written:
        return f'"{written[1:-1]}"'
    return written


def find_export(module: str, name: str, value: object) -> str | None:
    """Return the shortest package that exports something under a name; None if it cannot be imported."""
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        path = ".".join(parts[:length])
        found = sys.modules.get(path)
        if found is not None and vars(found).get(name) is value:
            return path
    return None


def write_keyfold(
    target: CodeTarget, pattern: Pattern[..., Any], arguments: Mapping[str, Any]
) -> str:
    """Return the code that runs a pattern with Keyfold."""
    writer = PythonWriter()
    writer.use("keyfold")
    lines: list[str] = []
    table = _write_table(writer, target, lines)
    function = _write_function(writer, pattern, table)
    given = [f"{name}={writer.write(value, WIDTH - 12)}" for name, value in arguments.items()]
    call = lay_out(f"{function}(", given, ")", WIDTH - 24)
    if "\n" in call:
        body = [f"request = {call}", "result = store.run(request)"]
    else:
        body = [f"result = store.run({call})"]
    body += _write_output(pattern)
    opened = f"with keyfold.open({table}, {quote(target.url or 'data.db')}) as "
    if target.principal is None:
        block = [f"{opened}store:", *(indent(each) for each in body)]
    else:
        roles = [quote(each) for each in target.principal.roles]
        ids = target.principal.ids
        if all(each.isidentifier() for each in ids):
            roles += [f"{name}={quote(value)}" for name, value in ids.items()]
        else:
            roles.append(f"**{writer.write(dict(ids))}")
        restricted = f"store = whole.as_principal({', '.join(roles)})"
        block = [f"{opened}whole:", *(indent(each) for each in (restricted, *body))]
    return "\n".join([*comment(lines), *writer.write_imports(), "", *block]) + "\n"


def _write_table(writer: PythonWriter, target: CodeTarget, notes: list[str]) -> str:
    """Import the table; return its name in the code."""
    found = find_table(target.table)
    if found is not None:
        return writer.use(*found)
    notes.append(
        f"Save the declaration of {target.table.name}, which the studio inferred, as tables.py first."
    )
    return writer.use("tables", "table")


def find_table(table: Table) -> tuple[str, str] | None:
    """Return the module and the name under which a table can be imported."""
    modules = dict.fromkeys(
        ".".join(parts[:length])
        for schema in table.entities.values()
        for parts in [schema.entity.__module__.split(".")]
        for length in range(1, len(parts) + 1)
    )
    for path in modules:
        found = sys.modules.get(path)
        for name, value in vars(found).items() if found is not None else ():
            if value is table and not name.startswith("_"):
                return path, name
    return None


def _write_function(writer: PythonWriter, pattern: Pattern[..., Any], table: str) -> str:
    module = find_export(pattern.make.__module__, pattern.__name__, pattern)
    if module is None:
        return f"{table}.patterns[{quote(pattern.name)}]"
    return writer.use(module, pattern.__name__)


def _write_output(pattern: Pattern[..., Any]) -> Iterable[str]:
    """Return the lines that print the result."""
    result = find_result_type(find_request_type(pattern))
    if get_origin(result) is Page:
        return ["for each in result:", "    print(each)"]
    return ["print(result)"]
