"""Key templates of a group of items: literals, and the parts that vary."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Formatter

from keyfold.imports._splitting import SplitText
from keyfold.imports._texts import ID_PATTERN, TextKind, common_kind, kind_of
from keyfold.imports._types import annotate_text, find_width
from keyfold.keys import TemplateField, read_fields


@dataclass(frozen=True, slots=True)
class VariablePart:
    """A part of a key that varies: its text in each item, its type, and what comes before it.

    `prefix` is the prefix of a typed id, which is part of the texts. `hint` is the literal before.
    `name` is the name of the field, if it is known.
    """

    texts: tuple[str, ...]
    annotation: str
    spec: str = ""
    prefix: str | None = None
    hint: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class InferredTemplate:
    """A key attribute's literals and parts, in order, and doubts about them."""

    nodes: tuple[str | VariablePart, ...]
    doubts: tuple[str, ...] = ()

    @property
    def parts(self) -> list[VariablePart]:
        """The parts that vary."""
        return [each for each in self.nodes if isinstance(each, VariablePart)]

    @property
    def literals(self) -> list[str]:
        """The words of the template, without separators."""
        return [each for each in self.nodes if isinstance(each, str) and each[:1].isalnum()]

    def write(self, names: Mapping[int, str]) -> str:
        """Return the text of the template, with the names of its parts by their place."""
        text, number = "", 0
        for node in self.nodes:
            if isinstance(node, str):
                text += node.replace("{", "{{").replace("}", "}}")
            else:
                text += f"{{{names[number]}{f':{node.spec}' if node.spec else ''}}}"
                number += 1
        return text


def infer_template(splits: Sequence[SplitText], attribute: str) -> InferredTemplate:
    """Return the template of texts that have the same separators."""
    columns = list(zip(*(split.pieces for split in splits), strict=True))
    literals = [_is_literal(columns, place) for place in range(len(columns))]
    doubts: list[str] = []
    nodes: list[str | VariablePart] = []
    for place, texts in enumerate(columns):
        if place:
            nodes.append(splits[0].separators[place - 1])
        if literals[place]:
            nodes.append(texts[0])
            if place and texts[0] and len(set(texts)) == 1 and _is_doubtful(columns):
                doubts.append(f"{attribute}: {texts[0]!r} may be the value of a field")
        else:
            nodes.append(_make_part(texts, nodes))
            if len(set(texts)) == 1 and kind_of(texts[0]) is TextKind.WORD:
                doubts.append(f"{attribute}: {texts[0]!r} may be a literal")
    return InferredTemplate(tuple(_join_ids([each for each in nodes if each != ""])), tuple(doubts))


def read_template(text: str, samples: Sequence[str], *, owner: str) -> InferredTemplate:
    """Return a template that is given as text; samples of keys show the types of its parts.

    Raises KeyTemplateInvalid.
    """
    fields = read_fields(text, owner=owner)
    literals = [before for before, *_ in Formatter().parse(text)]
    pattern = "".join(
        re.escape(before) + (_pattern_of(fields[number]) if number < len(fields) else "")
        for number, before in enumerate(literals)
    )
    found = [match.groups() for each in samples if (match := re.fullmatch(pattern, each))]
    columns = list(zip(*found, strict=True)) if found else [()] * len(fields)
    nodes: list[str | VariablePart] = []
    for number, before in enumerate(literals):
        nodes += [before] if before else []
        if number < len(fields):
            nodes.append(_read_part(fields[number], columns[number]))
    return InferredTemplate(tuple(nodes))


def _pattern_of(field: TemplateField) -> str:
    """Return a pattern for the texts of a part; ids, also those with a prefix, come first."""
    return f"([0-9]{{{int(field.spec)}}})" if field.spec.isdigit() else f"({ID_PATTERN}|.+?)"


def _read_part(field: TemplateField, texts: tuple[str, ...]) -> VariablePart:
    name, spec = field
    if spec:
        is_decimal = "." in spec
        is_number = is_decimal or spec.startswith("0") or all(map(str.isdigit, texts))
        annotation = "Decimal" if is_decimal else "int" if is_number else "str"
        return VariablePart(texts, annotation, spec, name=name)
    split = [text.rpartition("#") for text in texts]
    prefixes = {prefix for prefix, _, _ in split}
    if len(prefixes) == 1 and common_kind(rest for *_, rest in split) is TextKind.ULID:
        return VariablePart(texts, "Ulid", prefix=prefixes.pop() or None, name=name)
    return VariablePart(texts, annotate_text(texts, {}) if texts else "str", name=name)


def _is_literal(columns: Sequence[tuple[str, ...]], place: int) -> bool:
    """Return whether a constant piece is a literal.

    A word is, if it is the first piece or follows one that varies. After another literal, a word in
    lower case is rather an id of which the items have only one.
    """
    texts = columns[place]
    if len(set(texts)) > 1:
        return False
    kind = kind_of(texts[0])
    if kind is TextKind.EMPTY:
        return True
    if kind is not TextKind.WORD:
        return False
    if place == 0:
        return True
    follows_value = len(set(columns[place - 1])) > 1 or kind_of(columns[place - 1][0]) not in (
        TextKind.WORD,
        TextKind.EMPTY,
    )
    return follows_value or (len(texts) > 1 and texts[0].isupper())


def _is_doubtful(columns: Sequence[tuple[str, ...]]) -> bool:
    return len(columns[0]) < 3  # noqa: PLR2004 - so few items may have it by chance


def _make_part(texts: tuple[str, ...], before: Sequence[str | VariablePart]) -> VariablePart:
    words = [each for each in before if isinstance(each, str) and each[:1].isalnum()]
    hint = words[-1] if words else ""
    width = find_width(texts)
    if width is not None:
        return VariablePart(texts, "int", f"0{width}", hint=hint)
    return VariablePart(texts, annotate_text(texts, {}), hint=hint)


def _join_ids(nodes: list[str | VariablePart]) -> list[str | VariablePart]:
    """Return the nodes with a word, # and a ULID joined to a typed id."""
    joined: list[str | VariablePart] = []
    for node in nodes:
        if isinstance(node, VariablePart) and node.annotation == "Ulid" and joined[-1:] == ["#"]:
            word = joined[-2] if len(joined) > 1 else None
            if isinstance(word, str) and word[:1].isalnum():
                del joined[-2:]
                texts = tuple(f"{word}#{text}" for text in node.texts)
                joined.append(VariablePart(texts, "Ulid", prefix=word, hint=word))
                continue
        joined.append(node)
    return joined


def same_kind(texts: Sequence[str]) -> bool:
    """Return whether equal texts are no coincidence: they vary, or are ids."""
    return len(set(texts)) > 1 or common_kind(texts) in (
        TextKind.ULID,
        TextKind.UUID,
    )
