"""Python modules of inferred tables: ids, indexes, the table, its entities and access patterns."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from keyfold.imports._clashes import rename_clashes
from keyfold.imports._inferred import (
    InferredEntity,
    InferredField,
    InferredId,
    InferredIndex,
    InferredTable,
)
from keyfold.imports._naming import make_unique, plain, quote, to_snake
from keyfold.imports._patterns import list_patterns

_WIDTH = 100
_IMPORTS = (
    ("datetime", ("date", "datetime")),
    ("decimal", ("Decimal",)),
    ("typing", ("Any", "Literal")),
    ("uuid", ("UUID",)),
)
_KEYFOLD = (
    "Delete", "Entity", "Expiry", "Get", "Index", "Key", "OnDemand", "Provisioned", "Put", "Query", "Ref",
    "Table",
    "Ulid", "UnixTime", "attr", "part",
)  # fmt: skip


def write_module(tables: Sequence[InferredTable], *, title: str) -> str:
    """Return the source of a module that declares the tables; `title` is its docstring's sentence."""
    writer = _ModuleWriter()
    tables = rename_clashes(tables)
    body = "\n\n".join(_tidy(writer.write(table, is_only=len(tables) == 1)) for table in tables)
    quoted = title.replace("\\", "\\\\").replace('"""', "'''")
    head = [f'"""{quoted}"""', "", "from __future__ import annotations", ""]
    starts_with_class = body.startswith("class ")
    return (
        "\n".join([*head, *_write_imports(body), *([""] if starts_with_class else []), ""]) + body
    )


def _tidy(lines: Iterable[str]) -> str:
    return "\n".join(lines).strip("\n") + "\n"


def _write_imports(body: str) -> Iterator[str]:
    used = {each.id for each in ast.walk(ast.parse(body)) if isinstance(each, ast.Name)}
    standard = [
        f"from {module} import {', '.join(name for name in names if name in used)}"
        for module, names in _IMPORTS
        if used.intersection(names)
    ]
    yield from [*standard, ""] if standard else []
    yield from _wrap("from keyfold import ", [each for each in _KEYFOLD if each in used], "")
    yield ""


def _wrap(before: str, parts: Sequence[str], after: str, *, brackets: str = "") -> list[str]:
    """Return a line, or its parts in lines of their own if it is too long."""
    opening, closing = (brackets[0], brackets[1]) if brackets else ("", "")
    line = f"{before}{opening}{', '.join(parts)}{closing}{after}"
    if len(line) <= _WIDTH:
        return [line]
    opening, closing = (brackets or "()")[0], (brackets or "()")[1]
    return [f"{before}{opening}", *(f"    {each}," for each in parts), f"{closing}{after}"]


class _ModuleWriter:
    """Writes tables; the names of a module are unique."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._ids: set[InferredId] = set()

    def _name(self, wanted: str) -> str:
        name = make_unique(wanted, self._taken)
        self._taken.add(name)
        return name

    def write(self, table: InferredTable, *, is_only: bool) -> Iterator[str]:
        self._taken |= {each.name for each in (*table.entities, *table.ids)}
        variable = self._name("table" if is_only else f"{to_snake(table.name)}_table")
        indexes = {each.name: self._name(to_snake(each.name)) for each in table.indexes}
        for gap in table.gaps:
            yield from _comment(gap, "")
        for each in table.ids:
            if each in self._ids:
                continue  # the same as that of another table
            self._ids.add(each)
            yield ""
            more = "" if each.separator == "#" else f", separator={quote(each.separator)}"
            yield f"class {each.name}(Ulid, prefix={quote(each.prefix)}{more}):"
            yield f'    """Id with the prefix {plain(each.prefix)}."""'
            yield ""
        yield ""
        for each in table.indexes:
            yield from _write_index(each, indexes[each.name])
        yield from _write_table(table, variable, indexes)
        for entity in table.entities:
            yield from ("", "")
            yield from _write_entity(entity, variable, indexes)
        for entity in table.entities:
            for pattern in list_patterns(entity, table, indexes):
                yield from ("", "")
                yield f"@{variable}.pattern({quote(pattern.title)})"
                start = f"def {self._name(pattern.function)}"
                yield from _wrap(start, pattern.parameters, f" -> {pattern.result}:", brackets="()")
                yield f'    """{pattern.description}"""'
                yield from [f"    {pattern.before}"] if pattern.before else []
                yield f"    return {pattern.code}"
        if table.documented:
            yield from ("", "")
            yield "# Access patterns of the source. Write those that the functions above do not cover:"
            for each in table.documented:
                yield from _comment(each, "- ")


def _write_index(index: InferredIndex, variable: str) -> Iterator[str]:
    arguments = [quote(index.name), f"key={_write_key(index.partition, index.sort, {})}"]
    if isinstance(index.project, tuple):
        arguments.append(f"project=[{', '.join(map(quote, index.project))}]")
    elif index.project != "all":
        arguments.append(f"project={quote(index.project)}")
    if index.is_local:
        arguments.append("local=True")
    yield from _wrap(f"{variable} = Index", arguments, "", brackets="()")


def _write_key(partition: Sequence[str], sort: Sequence[str], types: Mapping[str, str]) -> str:
    parts = [_one_or_all(partition), *([_one_or_all(sort)] if sort else [])]
    if types:
        shown = ", ".join(f"{quote(name)}: {quote(kind)}" for name, kind in types.items())
        parts.append(f"types={{{shown}}}")
    return f"Key({', '.join(parts)})"


def _one_or_all(names: Sequence[str]) -> str:
    return quote(names[0]) if len(names) == 1 else f"({', '.join(map(quote, names))})"


def _write_table(table: InferredTable, variable: str, indexes: Mapping[str, str]) -> Iterator[str]:
    sort = () if table.sort is None else (table.sort,)
    arguments = [
        quote(table.name),
        f"key={_write_key((table.partition,), sort, table.key_types)}",
    ]
    if indexes:
        arguments.append(f"indexes=[{', '.join(indexes.values())}]")
    arguments += [f"{name}={source}" for name, source in table.settings.items()]
    yield from _wrap(f"{variable} = Table", arguments, "", brackets="()")


def _write_entity(
    entity: InferredEntity, variable: str, indexes: Mapping[str, str]
) -> Iterator[str]:
    yield from _describe_evidence(entity)
    arguments = ["Entity", f"table={variable}", f"key={_one_or_all(entity.key)}"]
    if entity.index_keys:
        shown = ", ".join(
            f"{indexes[name]}: {_write_groups(groups)}"
            for name, groups in entity.index_keys.items()
        )
        arguments.append(f"indexes={{{shown}}}")
    if entity.kind is not None and entity.kind != entity.name:
        arguments.append(f"kind={quote(entity.kind)}")
    if entity.unique:
        arguments.append(f"unique={_write_unique(entity.unique)}")
    if entity.is_fallback:
        arguments.append("fallback=True")
    if entity.has_extra:
        arguments.append('extra="allow"')
    yield from _wrap(f"class {entity.name}", arguments, ":", brackets="()")
    shown = " and ".join(entity.key)
    yield f'    """{plain(entity.description or f"Items with the key {shown}.")}"""'
    yield from ([""] if entity.fields else [])
    for each in entity.fields:
        yield f"    {_write_field(each)}"


def _write_groups(groups: Sequence[Sequence[str]]) -> str:
    """Return the templates of an index key; several groups are a list of tuples."""
    if len(groups) == 1:
        return _one_or_all(groups[0])
    written = (f"({', '.join(map(quote, each))}{',' * (len(each) == 1)})" for each in groups)
    return f"[{', '.join(written)}]"


def _write_unique(unique: Mapping[str, str | None]) -> str:
    if all(guard is None for guard in unique.values()):
        return _one_or_all([*unique])
    shown = (f"{quote(name)}: {quote(guard or name)}" for name, guard in unique.items())
    return f"{{{', '.join(shown)}}}"


def _write_field(each: InferredField) -> str:
    annotation = each.annotation
    if each.is_optional and annotation != "Any":
        annotation += " | None"
    default = each.default if each.default is not None else "None" if each.is_optional else None
    if each.attribute is None:
        return f"{each.name}: {annotation} = part()"
    if each.attribute != each.name:
        more = "" if default is None else f", default={default}"
        return f"{each.name}: {annotation} = attr({quote(each.attribute)}{more})"
    return f"{each.name}: {annotation}" + ("" if default is None else f" = {default}")


def _describe_evidence(entity: InferredEntity) -> Iterator[str]:
    found = entity.evidence
    if found is None:
        return
    fit = "all fit" if found.fitting == found.items else f"{found.share:.0%} fit"
    count = f"{found.items:,} item{'s' if found.items != 1 else ''}"
    yield from _comment(f"Certainty: {found.certainty}. Inferred from {count}; {fit}.", "")
    for doubt in found.doubts:
        yield from _comment(f"{doubt}.", "- ")


def _comment(text: str, mark: str) -> list[str]:
    plain = " ".join(text.split())
    return textwrap.wrap(
        plain, _WIDTH - 2, initial_indent=f"# {mark}", subsequent_indent="# " + " " * len(mark)
    )
