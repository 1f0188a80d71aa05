"""Errors of key templates, key parts and typed ids."""

from __future__ import annotations

from keyfold.errors._base import TemplatedError


class IdInvalid(TemplatedError, ValueError):
    """A value is not an id of this type, or a time cannot be represented in an id."""

    code = "id-invalid"
    message_template = "{kind}: {fact}; got {received}. {advice}"
    public_template = "{kind}: {fact}; got {received}."
    kind: str
    fact: str
    received: str
    advice: str


class _KeyTemplateError(TemplatedError, ValueError):
    """An error about one key template; `owner` is the entity or index that it belongs to."""

    message_template = "{owner}: key template {template!r} {fact}. {advice}"
    owner: str
    template: str
    fact: str
    advice: str


class KeyTemplateInvalid(_KeyTemplateError):
    """A key template is malformed or ambiguous, or the type of a field cannot be a key part."""

    code = "key-template-invalid"


class KeyRangeInvalid(_KeyTemplateError):
    """A key template cannot give exactly the range or prefix that was asked for."""

    code = "key-range-invalid"
    public_template = "{owner} {fact}."


class MissingKeyPart(TemplatedError, ValueError):
    """A key cannot be rendered because one of its parts was not given."""

    code = "key-missing-part"
    message_template = "{owner}: key template {template!r} needs {part!r}; got {given}."
    public_template = "{owner} needs {part!r}."
    owner: str
    template: str
    part: str
    given: tuple[str, ...]

    def _words(self) -> dict[str, str]:
        return {"given": ", ".join(self.given) or "nothing"}


class KeyPartInvalid(TemplatedError, ValueError):
    """A value cannot be a part of a key; `received` shows the value, cut off if it is long."""

    code = "key-part-invalid"
    message_template = (
        "{owner}: part {part!r} of key template {template!r} {fact}; got {received}. {advice}"
    )
    public_template = "{owner}: {part!r} {fact}; got {received}."
    owner: str
    template: str
    part: str
    fact: str
    received: str
    advice: str
