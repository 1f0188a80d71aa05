"""Key builders in TypeScript: functions that render the keys of entities as templates do."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import Enum
from typing import Any, Literal, cast, get_args, get_origin
from uuid import UUID

from keyfold.export._exported import ExportGap
from keyfold.export._json_schema import EntityDefinition
from keyfold.export._resource_names import to_camel
from keyfold.export._typescript_types import quote_name, write_comment
from keyfold.keys._annotations import find_type
from keyfold.keys._formats import (
    ChoiceFormat,
    DateFormat,
    DatetimeFormat,
    DecimalFormat,
    IntFormat,
    PartFormat,
    TextFormat,
    UlidFormat,
    UuidFormat,
)
from keyfold.model._codecs import StoredField
from keyfold.model._fields import UnixSeconds
from keyfold.model._index_choices import text_of
from keyfold.model._key_parts import KeyPart
from keyfold.model._own_codecs import find_own_codec

# Types of the fields whose stored value is what their JSON has.
_SAME = (str, UUID, int)


class _NoBuilder(Exception):
    """A key cannot be rendered in TypeScript; the message is the reason."""


@dataclass(slots=True)
class KeyBuilders:
    """Writes the key builders of entities, and collects the functions that they call."""

    helpers: set[str] = field(default_factory=set[str])
    gaps: list[ExportGap] = field(default_factory=list[ExportGap])

    def write(self, entity: EntityDefinition, type_name: str) -> list[str]:
        """Return the lines of an entity's builders: of its key, and of its key in each index."""
        first = type_name[:1].lower() + type_name[1:]
        lines: list[str] = []
        about = f"The key of {_article(type_name)} {type_name} in {entity.table.name}"
        keys: list[tuple[str, str, Sequence[Sequence[KeyPart]], bool]] = [
            (f"{first}Key", about, [entity.schema.keys], False)
        ]
        for name, alternatives in entity.schema.index_alternatives.items():
            in_index = f"{about}.{name}"
            keys.append((f"{first}KeyIn{to_camel(name)}", in_index, alternatives, True))
        for function, comment, alternatives, is_sparse in keys:
            try:
                written = self._write(
                    entity, type_name, function, comment, alternatives, is_sparse=is_sparse
                )
            except _NoBuilder as reason:
                self.gaps.append(ExportGap(f"{type_name}: {function}", str(reason)))
            else:
                lines += ["", *written]
        return lines

    def _write(
        self,
        entity: EntityDefinition,
        type_name: str,
        function: str,
        comment: str,
        alternatives: Sequence[Sequence[KeyPart]],
        *,
        is_sparse: bool,
    ) -> list[str]:
        names = entity.properties
        used = dict.fromkeys(
            name for parts in alternatives for part in parts for name in part.fields
        )
        for name in used:
            if name not in names:
                raise _NoBuilder(f"it is left out: {name} is not in the entity's JSON")
        types = {
            part.attribute: "number" if part.kind == "N" else "string" for part in alternatives[0]
        }
        returned = "; ".join(f"{quote_name(name)}: {kind}" for name, kind in types.items())
        nullable = [
            {name: None for part in parts for name in part.fields if self._may_lack(entity, name)}
            for parts in alternatives
        ]
        is_sparse = is_sparse and all(nullable)
        picked = " | ".join(json.dumps(names[name]) for name in used) or "never"
        result = f"{{ {returned} }}{' | undefined' if is_sparse else ''}"
        argument = f"parts: Pick<{type_name}, {picked}>" if used else ""
        shown = " or ".join(", ".join(map(text_of, parts)) for parts in alternatives)
        lines = [
            *write_comment(f"{comment}: {shown}."),
            f"export function {function}({argument}): {result} {{",
        ]
        for parts, lacking in zip(alternatives, nullable, strict=True):
            rendered = [
                f"{quote_name(part.attribute)}: {self._render(part, names)}" for part in parts
            ]
            body = f"return {{ {', '.join(rendered)} }};"
            if lacking:
                tests = " && ".join(f"{_access(names[name])} != null" for name in lacking)
                body = f"if ({tests}) {body}"
            lines.append(f"  {body}")
            if not lacking:
                break
        if is_sparse:
            lines.append("  return undefined;")
        return [*lines, "}"]

    @staticmethod
    def _may_lack(entity: EntityDefinition, name: str) -> bool:
        return entity.schema.fields[name].accepts_none

    def _render(self, part: KeyPart, names: Mapping[str, str]) -> str:
        if part.template is None:
            assert part.held_by is not None  # a key part has a template or a field
            return self._render_held(part.held_by, names)
        terms: list[str] = []
        for each in part.template.parts:
            if each.before:
                terms.append(json.dumps(each.before))
            terms.append(self._render_part(each.name, each.format, names))
        if part.template.tail:
            terms.append(json.dumps(part.template.tail))
        return " + ".join(terms)

    def _render_part(self, name: str, form: PartFormat, names: Mapping[str, str]) -> str:
        match form:
            case TextFormat(length=length, delimiters=delimiters):
                more = [json.dumps("".join(sorted(delimiters)))]
                return self._call(
                    "text", name, names, more if length is None else [*more, str(length)]
                )
            case IntFormat(digits=digits):
                return self._call("digits", name, names, [str(digits)])
            case DecimalFormat(digits=digits, scale=scale):
                return self._call("decimal", name, names, [str(digits), str(scale)])
            case DateFormat():
                return self._call("day", name, names)
            case DatetimeFormat():
                return self._call("instant", name, names)
            case UlidFormat(kind=kind):
                return self._call("ulid", name, names, [json.dumps(kind.head)])
            case UuidFormat():
                return self._call("uuid", name, names)
            case ChoiceFormat(texts=texts):
                by_value = {_json_text(value): text for text, value in texts.items()}
                return self._call("choice", name, names, [json.dumps(by_value)])
            case _:
                raise _NoBuilder(f"it is left out: a codec in Python renders {name}")

    def _render_held(self, stored: StoredField, names: Mapping[str, str]) -> str:
        name = stored.name
        kind: Any = find_type(stored.annotation)
        own = find_own_codec(stored.metadata)
        is_literal = get_origin(kind) is Literal
        if own is None and not stored.has_mark(UnixSeconds):
            if is_literal and all(isinstance(each, str | None) for each in get_args(kind)):
                return self._call("text", name, names, ['""'])
            if isinstance(kind, type) and issubclass(kind, datetime):
                return self._call("instant", name, names)
            if isinstance(kind, type) and issubclass(kind, date):
                return self._call("day", name, names)
            is_same = isinstance(kind, type) and (
                issubclass(kind, _SAME) or _is_of_texts(cast(type[Any], kind))
            )
            if is_same and stored.codec.kinds == frozenset({"S"}):
                return self._call("text", name, names, ['""'])
            if is_same and stored.codec.kinds == frozenset({"N"}) and not issubclass(kind, Enum):
                return _access(names[name])
        raise _NoBuilder(f"it is left out: {name} is stored in a form that its JSON does not have")

    def _call(
        self, helper: str, name: str, names: Mapping[str, str], more: Sequence[str] = ()
    ) -> str:
        self.helpers.add(helper)
        return f"{helper}({', '.join((json.dumps(names[name]), _access(names[name]), *more))})"


def _is_of_texts(kind: type[Any]) -> bool:
    return issubclass(kind, Enum) and all(isinstance(each.value, str) for each in kind)


def _json_text(value: object) -> str:
    return str(value.value if isinstance(value, Enum) else value)


def _access(name: str) -> str:
    return f"parts.{name}" if quote_name(name) == name else f"parts[{json.dumps(name)}]"


def _article(name: str) -> str:
    return "an" if name[:1] in "AEIOU" else "a"
