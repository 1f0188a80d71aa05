"""Access patterns that the keys of an entity allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from keyfold.imports._inferred import InferredEntity, InferredIndex, InferredTable
from keyfold.imports._naming import make_unique, plain, pluralise, to_snake
from keyfold.keys import read_fields

_PAGE_ITEMS = 100


@dataclass(frozen=True, slots=True)
class WrittenPattern:
    """A pattern as it is written: its function, title, parameters, result, and what it returns.

    `before` is a statement before that.
    """

    function: str
    title: str
    parameters: tuple[str, ...]
    result: str
    description: str
    code: str
    before: str = ""


def list_patterns(
    entity: InferredEntity, table: InferredTable, indexes: Mapping[str, str]
) -> Iterator[WrittenPattern]:
    """Yield patterns that get, list, put and delete an entity; `indexes` has the variables of indexes."""
    name, one = entity.name, to_snake(entity.name).rstrip("_")
    many = pluralise(one)
    shown, plural = _with_article(one.replace("_", " ")), many.replace("_", " ")
    types = {each.name: each.annotation for each in entity.fields}
    key = _fields_of(entity.key)
    first = _fields_of(entity.key[:1])
    parameters = tuple(f"{each}: {types[each]}" for each in key)
    yield WrittenPattern(
        f"get_{one}",
        f"Get {shown}",
        parameters,
        f"Get[{name}]",
        f"Get one {name} by its key; None if there is none.",
        f"{name}.get({_pass(key)})",
    )
    if len(key) > len(first):
        about = f"Query the {name} items of a partition, a page at a time."
        yield _make_query(entity, f"query_{many}", f"List {plural}", first, about)
    for index in table.indexes:
        names = _find_index_fields(index, entity, table)
        if names is not None:
            variable = indexes[index.name]
            about = (
                f"Query the {name} items of a partition of {plain(index.name)}, a page at a time."
            )
            function, title = (
                f"query_{many}_{variable}".rstrip("_"),
                f"List {plural} in {index.name}",
            )
            yield _make_query(
                entity,
                function,
                title,
                names,
                about,
                index=variable,
                has_all=index.project == "all",
            )
    yield WrittenPattern(
        f"put_{one}",
        f"Put {shown}",
        (f"{to_snake(name)}: {name}",),
        f"Put[{name}]",
        f"Upsert one {name}.",
        f"{to_snake(name)}.put()",
    )
    yield WrittenPattern(
        f"delete_{one}",
        f"Delete {shown}",
        parameters,
        f"Delete[{name}]",
        f"Delete one {name}; does nothing if there is none.",
        f"{name}.delete({_pass(key)})",
    )


def _make_query(
    entity: InferredEntity,
    function: str,
    title: str,
    names: list[str],
    description: str,
    *,
    index: str | None = None,
    has_all: bool = True,
) -> WrittenPattern:
    """Return a pattern that queries a partition; an index that lacks attributes gives references."""
    types = {each.name: each.annotation for each in entity.fields}
    limit, cursor = make_unique("limit", names), make_unique("cursor", names)
    parameters = (
        *(f"{each}: {types[each]}" for each in names),
        f"{limit}: int = {_PAGE_ITEMS}",
        f"{cursor}: str | None = None",
    )
    passed = ", ".join(filter(None, (index, _pass(names))))
    before = f"query = {entity.name}.query({passed})"
    result = f"Query[{entity.name}]" if has_all else f"Query[Ref[{entity.name}]]"
    code = f"query{'' if has_all else '.refs()'}.limit({limit}).after({cursor})"
    return WrittenPattern(function, title, parameters, result, description, code, before)


def _with_article(shown: str) -> str:
    return f"{'an' if shown[:1] in 'aeio' else 'a'} {shown}"


def _pass(names: Iterable[str]) -> str:
    return ", ".join(f"{each}={each}" for each in names)


def _fields_of(templates: Iterable[str]) -> list[str]:
    """Return the fields of templates, each once."""
    named = (each.name for text in templates for each in read_fields(text, owner="import"))
    return [*dict.fromkeys(named)]


def _find_index_fields(
    index: InferredIndex, entity: InferredEntity, table: InferredTable
) -> list[str] | None:
    """Return the fields that make an entity's partition key in an index; None if it is not in it."""
    templates = dict(zip(table.key_names, entity.key, strict=True))
    templates |= {
        each.attribute: f"{{{each.name}}}" for each in entity.fields if each.attribute is not None
    }
    made = entity.index_keys.get(index.name)
    if made is not None:
        templates |= zip(index.names, made[0], strict=True)
    if not all(name in templates for name in index.names):
        return None
    return _fields_of(templates[name] for name in index.partition)
