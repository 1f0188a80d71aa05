"""Python modules of inferred tables: ids, indexes, the table, its entities and access patterns."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from keyfold.imports._inferred import InferredEntity, InferredField, InferredIndex, InferredTable
from keyfold.imports._naming import make_unique, pluralise, quote, to_snake
from keyfold.keys import read_fields

_WIDTH = 100
_IMPORTS = (
    ("datetime", ("date", "datetime")),
    ("decimal", ("Decimal",)),
    ("typing", ("Any", "Literal")),
    ("uuid", ("UUID",)),
)
_KEYFOLD = (
    "Delete", "Entity", "Expiry", "Get", "Index", "Key", "Provisioned", "Put", "Query", "Table",
    "Ulid", "attr", "part",
)  # fmt: skip


def write_module(tables: Sequence[InferredTable], *, title: str) -> str:
    """Return the source of a module that declares the tables; `title` is its docstring's sentence."""
    writer = _ModuleWriter()
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
            yield ""
            yield f"class {each.name}(Ulid, prefix={quote(each.prefix)}):"
            yield f'    """Id with the prefix {_plain(each.prefix)}."""'
            yield ""
        yield ""
        for each in table.indexes:
            yield from _write_index(each, indexes[each.name])
        yield from _write_table(table, variable, indexes)
        for entity in table.entities:
            yield from ("", "")
            yield from _write_entity(entity, variable, indexes)
        for entity in table.entities:
            yield from self._write_patterns(entity, table, variable, indexes)

    def _write_patterns(
        self,
        entity: InferredEntity,
        table: InferredTable,
        variable: str,
        indexes: Mapping[str, str],
    ) -> Iterator[str]:
        """Yield the patterns that the keys of an entity allow."""
        name, one = entity.name, to_snake(entity.name).rstrip("_")
        many = pluralise(one)
        shown, plural = one.replace("_", " "), many.replace("_", " ")
        fields = {each.name: each for each in entity.fields}
        key = [*dict.fromkeys(f for each in entity.key for f in _fields_of(each))]
        first = [*dict.fromkeys(_fields_of(entity.key[0]))]

        def define(
            function: str, title: str, names: Sequence[str], result: str, doc: str, code: str
        ) -> Iterator[str]:
            yield from ("", "")
            yield f"@{variable}.pattern({quote(title)})"
            parameters = [f"{each}: {fields[each].annotation}" for each in names]
            start = f"def {self._name(function)}"
            yield from _wrap(start, parameters, f" -> {result}[{name}]:", brackets="()")
            yield f'    """{doc}"""'
            yield f"    return {code}"

        yield from define(
            f"get_{one}", f"Get {_article(shown)}", key, "Get",
            f"Get one {name} by its key; None if there is none.", f"{name}.get({_pass(key)})",
        )  # fmt: skip
        if len(entity.key) > 1 and len(key) > len(first):
            yield from define(
                f"query_{many}", f"List {plural}", first, "Query",
                f"Query the {name} items of a partition.", f"{name}.query({_pass(first)})",
            )  # fmt: skip
        for index in table.indexes:
            names = _index_fields(index, entity, table)
            if names is None:
                continue
            chosen = indexes[index.name]
            yield from define(
                f"query_{many}_{chosen}".rstrip("_"), f"List {plural} in {index.name}", names, "Query",
                f"Query the {name} items of a partition of {_plain(index.name)}.",
                f"{name}.query({', '.join(filter(None, (chosen, _pass(names))))})",
            )  # fmt: skip
        yield from ("", "")
        yield f"@{variable}.pattern({quote(f'Put {_article(shown)}')})"
        start = f"def {self._name(f'put_{one}')}"
        yield from _wrap(start, [f"{one}: {name}"], f" -> Put[{name}]:", brackets="()")
        yield f'    """Upsert one {name}."""'
        yield f"    return {one}.put()"
        yield from define(
            f"delete_{one}", f"Delete {_article(shown)}", key, "Delete",
            f"Delete one {name}; does nothing if there is none.", f"{name}.delete({_pass(key)})",
        )  # fmt: skip


def _article(shown: str) -> str:
    return f"{'an' if shown[:1] in 'aeio' else 'a'} {shown}"


def _pass(names: Iterable[str]) -> str:
    return ", ".join(f"{each}={each}" for each in names)


def _fields_of(template: str) -> list[str]:
    return [each.name for each in read_fields(template, owner="import")]


def _index_fields(
    index: InferredIndex, entity: InferredEntity, table: InferredTable
) -> list[str] | None:
    """Return the fields of an entity that make its partition key in an index; None if it is not in it."""
    stored = {each.attribute: each.name for each in entity.fields if each.attribute is not None}
    templates = dict(zip(table.key_names, entity.key, strict=True))
    made = entity.index_keys.get(index.name)
    if made is not None:
        templates |= zip(index.names, made[0], strict=True)
    names: dict[str, None] = {}
    for attribute in index.names:
        if attribute in templates:
            found = _fields_of(templates[attribute])
        elif attribute in stored:
            found = [stored[attribute]]
        else:
            return None
        if attribute in index.partition:
            names |= dict.fromkeys(found)
    return [*names]


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
    yield from _wrap(f"class {entity.name}", arguments, ":", brackets="()")
    shown = " and ".join(entity.key)
    yield f'    """{_plain(entity.description or f"Items with the key {shown}.")}"""'
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


def _plain(text: str) -> str:
    """Return a text for a docstring: one line, and nothing that ends it."""
    joined = " ".join(text.split())
    return joined.replace("\\", "\\\\").replace('"""', "'''").rstrip('"')
