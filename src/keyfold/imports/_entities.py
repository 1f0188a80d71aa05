"""Entities of groups of items: their templates, fields and names."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from keyfold.imports._grouping import ItemGroup, is_type_attribute
from keyfold.imports._inferred import InferredEntity, InferredField, InferredId, InferredTable
from keyfold.imports._naming import make_unique, quote, singularise, to_class, to_snake
from keyfold.imports._splitting import SplitText, split_text
from keyfold.imports._templates import InferredTemplate, VariablePart, infer_template, same_kind
from keyfold.imports._types import annotate, has_null
from keyfold.values import AttributeValue, Item

# Types of attributes that are declared, and that no item has.
_DECLARED = {
    "S": "str",
    "N": "Decimal",
    "B": "bytes",
    "BOOL": "bool",
    "L": "list[Any]",
    "M": "dict[str, Any]",
    "SS": "frozenset[str]",
    "NS": "frozenset[Decimal]",
    "BS": "frozenset[bytes]",
    "NULL": "Any",
}
# Names of parts whose own is taken.
_BY_TYPE = {"int": "number", "date": "day", "datetime": "at"}
# An attribute that so many items have with the same value is a literal of an index key.
_MANY = 3
_split_words = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])").findall


@dataclass(frozen=True, slots=True)
class GroupTemplates:
    """A group with the templates of its key attributes; None for one that is not text."""

    group: ItemGroup
    templates: tuple[InferredTemplate | None, ...]

    @property
    def items(self) -> list[Item]:
        """The items as they are stored."""
        return [each.item for each in self.group.items]

    @property
    def parts(self) -> list[VariablePart]:
        """All parts of the key that vary."""
        return [part for each in self.templates if each is not None for part in each.parts]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Names for what the keys of a table say: words by prefix, and classes of typed ids by prefix."""

    words: Mapping[str, str]
    ids: Mapping[str, str]

    def list_ids(self) -> tuple[InferredId, ...]:
        """Return the typed ids, by name."""
        found = [InferredId(name, prefix) for prefix, name in self.ids.items()]
        return tuple(sorted(found, key=lambda each: each.name))


def infer_templates(group: ItemGroup, key: Sequence[str]) -> GroupTemplates:
    """Return the templates of a group's key attributes."""
    templates: list[InferredTemplate | None] = []
    for number, name in enumerate(key):
        splits = [split for each in group.items if (split := each.keys[number]) is not None]
        templates.append(infer_template(splits, name) if splits else None)
    return GroupTemplates(group, tuple(templates))


def make_vocabulary(groups: Sequence[GroupTemplates]) -> Vocabulary:
    """Return names for prefixes: the type of the items whose key ends with such an id.

    Without a type, it is the word that an id stands beside and that begins like its prefix, as in
    C#01JZ10H7X367VB2NF4YQ973DHW and CUSTOMER.
    """
    words: dict[str, str] = {}
    prefixes = sorted({part.prefix for each in groups for part in each.parts if part.prefix})
    for each in groups:
        last = each.templates[-1]
        if each.group.kind is None or last is None or not last.parts:
            continue
        if last.nodes[-1] is last.parts[-1] and len(last.parts) == 1 and last.parts[-1].hint:
            words.setdefault(last.parts[-1].hint, to_class(each.group.kind))
    for each in groups:
        literals = [word for template in each.templates if template for word in template.literals]
        match each.parts, literals:
            case [part], [word] if part.prefix and word.upper().startswith(part.prefix.upper()):
                words.setdefault(part.hint, to_class(word))
            case _:
                pass
    ids: dict[str, str] = {}
    for prefix in prefixes:
        name = f"{words.get(prefix, to_class(prefix))}Id"
        ids[prefix] = make_unique(name, ids.values())
    return Vocabulary(words, ids)


def name_entities(
    groups: Sequence[GroupTemplates], vocabulary: Vocabulary, key: Sequence[str]
) -> list[str]:
    """Return a class name for each group; those with fewer parts in their keys choose first."""
    names: dict[int, str] = {}
    taken = {*vocabulary.ids.values()}
    order = sorted(
        range(len(groups)),
        key=lambda number: (groups[number].group.kind is None, len(groups[number].parts)),
    )
    for number in order:
        options = [*_list_names(groups[number], vocabulary, key)]
        free = next((each for each in options if each not in taken), None)
        names[number] = free or make_unique(options[0], taken)
        taken.add(names[number])
    return [names[number] for number in range(len(groups))]


def _list_names(group: GroupTemplates, vocabulary: Vocabulary, key: Sequence[str]) -> Iterator[str]:
    if group.group.kind is not None:
        yield to_class(group.group.kind)
    words = [*_list_words(group, vocabulary)]
    name = singularise(to_class("-".join(words))) if words else "Item"
    yield name
    others = [
        found
        for part in group.parts
        if (found := _find_attribute(part, group.items, key)) is not None
    ]
    for attribute in others:
        owner = to_class(re.sub(r"(?<=.)_?(ID|Id|id)$", "", attribute))
        yield from (f"{owner}{name}", f"{name}{owner}") if owner != name else ()
    yield f"{name}Item"


def _list_words(group: GroupTemplates, vocabulary: Vocabulary) -> Iterator[str]:
    """Yield the words of the sort key, or else of the partition key, or else of its ids."""
    for each in reversed(group.templates):
        found = [word for word in (each.literals if each else ()) if len(word) > 1]
        if found:
            yield from found
            return
    for part in reversed(group.parts):
        if part.hint:
            yield vocabulary.words.get(part.hint, part.hint)
            return


def _find_attribute(part: VariablePart, items: Sequence[Item], key: Sequence[str]) -> str | None:
    """Return the attribute that has the same values as a part of a key; None if there is none."""
    if not (same_kind(part.texts) or part.prefix):
        return None
    for name in items[0]:
        if name in key:
            continue
        values = [item.get(name, {}).get("S") for item in items]
        if values == [*part.texts]:
            return name
    return None


@dataclass(slots=True)
class EntityBuilder:
    """Builds the entity of a group: fields are added as its templates need them.

    `declared` has the types of attributes that need not occur in the items.
    """

    table: InferredTable
    source: GroupTemplates
    vocabulary: Vocabulary
    separators: str
    declared: Mapping[str, str] = field(default_factory=dict[str, str])
    fields: dict[str, InferredField] = field(default_factory=dict[str, InferredField])
    # The texts of each field that is part of a template.
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    doubts: list[str] = field(default_factory=list[str])

    def build(self, name: str, ttl: str | None, type_attribute: str | None) -> InferredEntity:
        """Return the entity, without evidence."""
        key: list[str] = []
        for attribute, template in zip(self.table.key_names, self.source.templates, strict=True):
            if template is None:
                values = [item[attribute] for item in self.source.items]
                kind = annotate(values, {}) if values else _DECLARED[self.declared[attribute]]
                held = self._add(to_snake(attribute), kind, attribute)
                key.append(f"{{{held}}}")
            else:
                key.append(self._write(template, attribute))
                self.doubts += template.doubts
        index_keys, made = self._read_indexes() if self.source.items else ({}, set[str]())
        for attribute in self._list_attributes(made, type_attribute):
            self._add_attribute(attribute, ttl)
        kind = None if type_attribute is None else self.source.group.kind
        return InferredEntity(name, tuple(key), tuple(self.fields.values()), index_keys, kind=kind)

    # Templates.

    def _write(self, template: InferredTemplate, attribute: str) -> str:
        names: dict[int, str] = {}
        for number, part in enumerate(template.parts):
            names[number] = self._name_part(part, attribute, used=names.values())
        return template.write(names)

    def _name_part(self, part: VariablePart, attribute: str, used: Container[str] = ()) -> str:
        """Return the field of a part: one that has the same texts, or a new one.

        A template names a field only once: those that are `used` in it are not taken.
        """
        if part.name:
            return self._name_given(part)
        known = self._find_known(part, used)
        if known is not None:
            return known
        stored = _find_attribute(part, self.source.items, self.table.key_names)
        if any(each.attribute == stored for each in self.fields.values()):
            stored = None
        annotation = self.vocabulary.ids.get(part.prefix or "", part.annotation)
        wanted = to_snake(stored) if stored else self._choose_name(part, attribute)
        added = self._add(wanted, annotation, stored)
        self.texts[added] = part.texts
        return added

    def _name_given(self, part: VariablePart) -> str:
        """Return the field of a part whose name is known: that of an attribute, or its own."""
        stored = part.name if part.name in self.declared else None
        for each in self.fields.values():
            if part.name in (each.attribute, each.name):
                return each.name
        annotation = self.vocabulary.ids.get(part.prefix or "", part.annotation)
        added = self._add(to_snake(part.name), annotation, stored)
        self.texts[added] = part.texts
        return added

    def _find_known(self, part: VariablePart, used: Container[str]) -> str | None:
        if not (same_kind(part.texts) or part.prefix):
            return None
        same = (name for name, texts in self.texts.items() if texts == part.texts)
        return next((name for name in same if name not in used), None)

    def _choose_name(self, part: VariablePart, attribute: str) -> str:
        if part.hint in self.vocabulary.words:
            name = to_snake(self.vocabulary.words[part.hint])
        elif part.annotation == "int":
            name = "number"
        else:
            name = self._name_by_words(part, attribute)
        return _BY_TYPE.get(part.annotation, name) if name in self.fields else name

    def _name_by_words(self, part: VariablePart, attribute: str) -> str:
        """Return the word before a part, or that of the partition key: customer of customer-order."""
        if len(part.hint) > 1:
            return to_snake(singularise(to_class(part.hint)))
        first = self.source.templates[0]
        parts = self.source.parts
        if first is not None and first.literals and not first.parts:
            words = _split_words(first.literals[-1])
            place = parts.index(part) + len(words) - len(parts)
            if place >= 0:
                return to_snake(singularise(words[place]))
        return "id" if attribute == self.table.partition else "key"

    # Indexes.

    def _read_indexes(self) -> tuple[dict[str, tuple[tuple[str, ...], ...]], set[str]]:
        """Return the templates of index keys, and the attributes that they make."""
        templates = {
            name: template
            for index in self.table.indexes
            for name in index.names
            if name not in self.table.key_names
            and (template := self._template_of(name)) is not None
        }
        found: dict[str, tuple[tuple[str, ...], ...]] = {}
        made: set[str] = set()
        for index in self.table.indexes:
            own = [name for name in index.names if name in templates]
            if not own:
                continue
            written: list[str] = []
            for name in index.names:
                if name in templates:
                    written.append(templates[name])
                elif name in self.table.key_names:
                    break  # a key of text that other templates make
                elif self._has_always(name):
                    copied = self._find_copied(name)
                    own += [name] if copied else []
                    written.append(f"{{{self._add_attribute(copied or name, None)}}}")
                else:
                    break
            if len(written) == len(index.names):
                found[index.name] = (tuple(written),)
                made.update(own)
        return found, made

    def _template_of(self, attribute: str) -> str | None:
        """Return the template of an index key attribute; None for one that is a field's value."""
        texts = [item.get(attribute, {}).get("S") for item in self.source.items]
        whole = [text for text in texts if text is not None]
        if len(whole) < len(texts):
            return None
        splits: list[SplitText] = [split_text(text, self.separators) for text in whole]
        if len({split.separators for split in splits}) > 1:
            return None
        template = infer_template(splits, attribute)
        if template.nodes == (*template.parts,):
            return None  # one value, and no literals
        if not template.parts and (len(whole) < _MANY or not whole[0].isupper()):
            return None  # the same value by chance, or the type of the items
        names: dict[int, str] = {}
        for number, part in enumerate(template.parts):
            others = (*self.table.key_names, attribute)
            stored = _find_attribute(part, self.source.items, others)
            known = self._find_known(part, names.values())
            if known is None and stored is None:
                fact = f"{attribute}: looks like {template.write(_number(template))!r}"
                self.doubts.append(f"{fact}, but no field has its parts")
                return None
            names[number] = known or self._name_part(part, attribute, names.values())
        return template.write(names)

    def _find_copied(self, attribute: str) -> str | None:
        """Return the attribute of which an index key attribute is a copy; None if it is none."""
        keys = {
            *self.table.key_names,
            *(name for each in self.table.indexes for name in each.names),
        }
        values = [item.get(attribute) for item in self.source.items]
        if not same_kind([repr(value) for value in values]):
            return None
        others = (name for name in self.source.items[0] if name not in keys)
        same = (name for name in others if [each.get(name) for each in self.source.items] == values)
        return next(same, None)

    def _has_always(self, attribute: str) -> bool:
        return all(attribute in item for item in self.source.items)

    # Attributes.

    def _list_attributes(self, made: set[str], type_attribute: str | None) -> list[str]:
        every = dict.fromkeys(name for item in self.source.items for name in item)
        every |= dict.fromkeys(self.declared)
        left_out = {*self.table.key_names, *made, type_attribute}
        return [name for name in every if name not in left_out]

    def _add_attribute(self, attribute: str, ttl: str | None) -> str:
        known = next((each for each in self.fields.values() if each.attribute == attribute), None)
        if known is not None:
            return known.name
        values = [item[attribute] for item in self.source.items if attribute in item]
        annotation, default = annotate(values, self.vocabulary.ids), None
        if not values:
            annotation = _DECLARED[self.declared[attribute]]
        is_missing = len(values) < len(self.source.items) or not values
        if attribute == ttl and annotation == "int":
            annotation, is_missing = "Expiry", True
        elif is_type_attribute(attribute) and annotation == "str":
            annotation, default = _annotate_type(values)
        is_optional = is_missing or has_null(values)
        if annotation.startswith("frozenset") and is_missing:
            default, is_optional = "frozenset()", False
        return self._add(to_snake(attribute), annotation, attribute, is_optional, default)

    def _add(
        self,
        wanted: str,
        annotation: str,
        attribute: str | None,
        is_optional: bool = False,  # noqa: FBT001, FBT002 - passed on
        default: str | None = None,
    ) -> str:
        name = make_unique(wanted, self.fields)
        self.fields[name] = InferredField(name, annotation, attribute, is_optional, default)
        return name


def _annotate_type(values: Sequence[AttributeValue]) -> tuple[str, str | None]:
    """Return the type of a type attribute: a literal, if all items of the entity have the same."""
    texts = {value["S"] for value in values}
    if len(texts) != 1:
        return "str", None
    shown = quote(texts.pop())
    return f"Literal[{shown}]", shown


def _number(template: InferredTemplate) -> dict[int, str]:
    return {number: f"part{number + 1}" for number in range(len(template.parts))}
