"""The templates of key attributes, which stand for keys where keys are not shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from keyfold.keys import KeyTemplate
from keyfold.model._tables import Table
from keyfold.values import AttributeValue

# Stands for a value of which there is nothing to show.
HIDDEN = "…"


class KeyTemplates:
    """Finds the template that a value of a table's key attribute was rendered by."""

    def __init__(self, table: Table) -> None:
        self._templates: dict[str, dict[str, KeyTemplate]] = {}
        # Key attributes that hold the value of a field.
        self._fields: dict[str, str] = {}
        for schema in table.entities.values():
            indexes = schema.index_alternatives.values()
            for part in (*schema.keys, *(part for each in indexes for key in each for part in key)):
                if part.template is not None:
                    by_text = self._templates.setdefault(part.attribute, {})
                    by_text.setdefault(part.template.text, part.template)
                else:
                    self._fields.setdefault(part.attribute, f"{{{part.fields[0]}}}")

    def show(self, attribute: str, value: AttributeValue) -> str:
        """Return the template of a value, or of the prefix that it is; an ellipsis if there is none.

        A prefix that has no value in it, only text of the template, is shown as it is.
        """
        text = value.get("S")
        templates = self._templates.get(attribute, {}).values()
        if isinstance(text, str):
            for template in templates:
                if template.parse(text) is not None:
                    return template.text
            for template in templates:
                for shown, pattern in _prefixes_of(template):
                    if re.fullmatch(pattern, text):
                        return shown
        return self._fields.get(attribute, HIDDEN)


def _prefixes_of(template: KeyTemplate) -> Iterator[tuple[str, str]]:
    """Yield the beginnings of a template up to each of its parts, and their patterns."""
    shown, pattern = "", ""
    for part in template.parts:
        shown += part.before
        pattern += re.escape(part.before)
        if shown:
            yield shown, pattern
        if part.head:
            yield shown + part.head, pattern + re.escape(part.head)
        shown += f"{{{part.name}}}"
        pattern += f"(?:{part.format.pattern})"
        yield shown, pattern
