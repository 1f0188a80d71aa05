"""The Python types of a client, from the JSON schemas of a service: annotations and models."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import BaseModel

from keyfold.export._resource_names import to_camel

_INPUT, _OUTPUT = "-Input", "-Output"
_SCALARS = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
}
# The types of texts, and the modules that have them.
_FORMATS = {
    "date-time": ("datetime", "datetime"),
    "date": ("datetime", "date"),
    "time": ("datetime", "time"),
    "duration": ("datetime", "timedelta"),
    "uuid": ("uuid", "UUID"),
    "decimal": ("decimal", "Decimal"),
    "binary": ("", "bytes"),
    "base64url": ("", "bytes"),
}
_HASHABLE = {*_SCALARS.values(), *(name for _, name in _FORMATS.values())}
# A field of one of these names would hide what other annotations need, or what models can do.
_HIDING = (
    {*keyword.kwlist, *_HASHABLE, "dict", "list", "set", "tuple"}
    | {"Any", "Field", "Literal", "UNSET"}
    | {name for name in dir(BaseModel) if not name.startswith("__")}
)
# How long a line of a client may be.
WIDTH = 100
_INDENT = 4
_NO_WORD = re.compile(r"\W")


@dataclass(slots=True)
class ClientTypes:
    """Annotations and models for the definitions of a service; `make_client_types` returns them.

    What is read and what is written has one model, unless their fields differ.
    """

    definitions: Mapping[str, dict[str, Any]]
    taken: Iterable[str] = ()
    # The names of definitions whose read and written forms have different fields.
    apart: set[str] = field(default_factory=set[str])
    # The names that annotations need, by module.
    imports: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    # The models, in the order of their first use, by the name of their definition.
    _used: list[str] = field(default_factory=list[str])
    _entered: list[str] = field(default_factory=list[str])

    def annotate(self, schema: Any) -> str:
        """Return the annotation of a schema.

        >>> ClientTypes({}).annotate({"type": "array", "items": {"type": ["string", "null"]}})
        'list[str | None]'
        """
        if not isinstance(schema, dict):
            return self._import("typing", "Any")
        found = cast("dict[str, Any]", schema)
        if "$ref" in found:
            return self._refer(found["$ref"].rpartition("/")[2])
        if "const" in found or "enum" in found:
            values: list[Any] = found.get("enum", [found.get("const")])
            return f"{self._import('typing', 'Literal')}[{', '.join(map(_write_literal, values))}]"
        for choice in ("anyOf", "oneOf"):
            if choice in found:
                return self._join(map(self.annotate, found[choice]))
        kind = found.get("type")
        if isinstance(kind, list):
            kinds = cast("list[str]", kind)
            return self._join(self.annotate({**found, "type": each}) for each in kinds)
        if kind == "array":
            return self._annotate_array(found)
        if kind == "object":
            return self._annotate_object(found)
        if kind == "string" and found.get("format") in _FORMATS:
            return self._import(*_FORMATS[found["format"]])
        return _SCALARS.get(str(kind)) or self._import("typing", "Any")

    def may_be_nothing(self, annotation: str) -> bool:
        """Return whether None is a value of an annotation."""
        return annotation in ("Any", "None") or annotation.endswith("| None")

    def write_models(self) -> Iterator[str]:
        """Yield the lines of the models that annotations refer to."""
        written: set[str] = set()
        # Writing a model may need others.
        position = 0
        while position < len(self._used):
            name = self._name(self._used[position])
            if name not in written:
                written.add(name)
                yield from self._write_model(name, self._used[position])
            position += 1

    def _write_model(self, name: str, definition: str) -> Iterator[str]:
        base = definition.removesuffix(_INPUT).removesuffix(_OUTPUT)
        given = f"{base}{_INPUT}"
        is_merged = given in self.definitions and base not in self.apart
        schema = self.definitions[given if is_merged else definition]
        yield from ("", "", f"class {name}(ServiceModel):")
        description = schema.get("description", "")
        lines = write_docstring(description) if description else []
        yield from (f"    {line}".rstrip() for line in lines)
        if schema.get("additionalProperties") is True:
            yield from (
                "",
                f'    model_config = {self._import("pydantic", "ConfigDict")}(extra="allow")',
            )
        required = schema.get("required", ())
        properties: dict[str, Any] = schema.get("properties", {})
        if lines and properties:
            yield ""
        # Fields without a default come first.
        ordered = sorted(properties.items(), key=lambda each: each[0] not in required)
        for each, member in ordered:
            yield f"    {self._write_field(each, member, is_required=each in required)}"
        if not (lines or properties):
            yield "    pass"

    def _write_field(self, name: str, schema: dict[str, Any], *, is_required: bool) -> str:
        annotation = self.annotate(schema)
        shown = _NO_WORD.sub("_", name).lstrip("_0123456789") or "field"
        if shown in _HIDING:
            shown += "_"
        default = None if is_required else self._write_default(schema, annotation)
        if shown == name:
            return f"{name}: {annotation}" + ("" if default is None else f" = {default}")
        given = [] if default is None else [f"default={default}"]
        given += [
            f"{each}_alias={_write_literal(name)}" for each in ("validation", "serialization")
        ]
        start = f"{shown}: {annotation} = {self._import('pydantic', 'Field')}("
        line = f"{start}{', '.join(given)})"
        if len(line) + _INDENT <= WIDTH:
            return line
        return f"{start}\n        {', '.join(given)}\n    )"

    def _write_default(self, schema: dict[str, Any], annotation: str) -> str:
        """Return the default of a field; what only the service knows, it adds itself."""
        value: Any = schema.get("default", ...)
        options = _split_union(annotation)
        if value is None and "None" in options:
            return "None"
        if value in (..., [], {}):
            # Empty ones are not sent, so that the service chooses.
            kind = annotation.partition("[")[0]
            return {"list": "[]", "dict": "{}", "set": "set()"}.get(kind, "UNSET")
        if type(value).__name__ in options or (
            isinstance(value, str) and any(each.startswith("Literal[") for each in options)
        ):
            return _write_literal(value)
        if "Decimal" in options and isinstance(value, str | int | float):
            return f'Decimal("{value}")'
        return "UNSET"

    def _refer(self, definition: str) -> str:
        schema = self.definitions[definition]
        if schema.get("type") == "object" and "properties" in schema:
            if definition not in self._used:
                self._used.append(definition)
            return self._name(definition)
        if definition in self._entered:
            # A type that contains itself.
            return self._import("typing", "Any")
        self._entered.append(definition)
        try:
            return self.annotate(schema)
        finally:
            self._entered.pop()

    def _name(self, definition: str) -> str:
        base = definition.removesuffix(_INPUT).removesuffix(_OUTPUT)
        suffix = "Input" if definition.endswith(_INPUT) and base in self.apart else ""
        name = (base if base.isidentifier() else to_camel(base)) + suffix
        return f"{name}Entity" if name in self.taken else name

    def _annotate_array(self, schema: dict[str, Any]) -> str:
        if "prefixItems" in schema:
            return f"tuple[{', '.join(map(self.annotate, schema['prefixItems']))}]"
        member = self.annotate(schema.get("items"))
        is_set = schema.get("uniqueItems") is True and member in _HASHABLE
        return f"set[{member}]" if is_set else f"list[{member}]"

    def _annotate_object(self, schema: dict[str, Any]) -> str:
        names = self.annotate({"type": "string", **schema.get("propertyNames", {})})
        values = schema.get("additionalProperties")
        if "properties" in schema:
            values = None
        return f"dict[{names if names in _HASHABLE else 'str'}, {self.annotate(values)}]"

    def _join(self, options: Iterable[str]) -> str:
        found = [*dict.fromkeys(each for joined in options for each in _split_union(joined))]
        if "Any" in found:
            return "Any"
        if "Decimal" in found:
            # JSON's numbers are accepted, too; in Python, they are decimals.
            found = [each for each in found if each not in ("float", "int")]
        return " | ".join(sorted(found, key=lambda each: each == "None"))

    def _import(self, module: str, name: str) -> str:
        if module:
            self.imports.setdefault(module, set()).add(name)
        return name


def make_client_types(
    definitions: Mapping[str, dict[str, Any]], taken: Iterable[str]
) -> ClientTypes:
    """Return the types of a client; `taken` are names that its models may not have."""
    apart: set[str] = set()
    is_new = True
    while is_new:
        found = {
            base
            for base in (name.removesuffix(_INPUT) for name in definitions)
            if f"{base}{_INPUT}" in definitions
            and _annotate_fields(definitions, f"{base}{_INPUT}", apart)
            != _annotate_fields(definitions, f"{base}{_OUTPUT}", apart)
        }
        is_new = not found <= apart
        apart |= found
    return ClientTypes(definitions, taken, apart)


def _annotate_fields(
    definitions: Mapping[str, dict[str, Any]], name: str, apart: set[str]
) -> dict[str, str]:
    types = ClientTypes(definitions, (), apart)
    properties: dict[str, Any] = definitions.get(name, {}).get("properties", {})
    return {each: types.annotate(schema) for each, schema in properties.items()}


def _write_literal(value: Any) -> str:
    """Return a text, number or truth value as Python has it; texts in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _split_union(annotation: str) -> list[str]:
    """Return the options of a union.

    >>> _split_union("list[int | dict[str, int]] | None")
    ['list[int | dict[str, int]]', 'None']
    """
    options = [""]
    for each in annotation.split(" | "):
        # Within brackets, it is not the union that is split.
        is_open = options[-1].count("[") > options[-1].count("]")
        if is_open:
            options[-1] += f" | {each}"
        else:
            options.append(each)
    return options[1:]


def write_docstring(text: str) -> list[str]:
    """Return the lines of a docstring."""
    escaped = text.strip().replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    lines = escaped.splitlines()
    if len(lines) == 1:
        if escaped.endswith('"'):
            lines = [f'{escaped[:-1]}\\"']
        return [f'"""{lines[0]}"""']
    return [f'"""{lines[0]}', *lines[1:], '"""']
