"""Errors of key templates, key parts and typed ids."""

from __future__ import annotations

from keyfold.errors import KeyfoldError

MAX_SHOWN = 80
_KEPT = 60


def show(value: object) -> str:
    """Return a value as text for a message; a long one is cut off.

    >>> show("x#O"), show(7)
    ("'x#O'", '7')
    >>> show("x" * 81)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'… (81 characters)"
    """
    if isinstance(value, str):
        # Show an instance of a str subclass, such as an id or enum member, as its plain text.
        text = str.__str__(value)
        if len(text) <= MAX_SHOWN:
            return repr(text)
        return f"{text[:_KEPT]!r}… ({len(text)} characters)"
    try:
        shown = repr(value)
    except Exception:  # noqa: BLE001 # a failing __repr__ must not hide the error being reported
        return f"<{type(value).__name__}>"
    return shown if len(shown) <= MAX_SHOWN else f"{shown[:_KEPT]}… ({len(shown)} characters)"


class IdInvalid(KeyfoldError, ValueError):
    """A value is not an id of this type, or a time cannot be represented in an id."""

    code = "id-invalid"

    def __init__(self, kind: str, fact: str, received: str, advice: str) -> None:
        super().__init__(kind, fact, received, advice)
        self.kind, self.fact, self.received, self.advice = kind, fact, received, advice

    def __str__(self) -> str:
        return f"{self.kind}: {self.fact}; got {self.received}. {self.advice} [{self.code}]"


class _TemplateError(KeyfoldError, ValueError):
    """An error about one key template; `owner` is the entity or index that it belongs to."""

    def __init__(self, owner: str, template: str, fact: str, advice: str) -> None:
        super().__init__(owner, template, fact, advice)
        self.owner, self.template, self.fact, self.advice = owner, template, fact, advice

    def __str__(self) -> str:
        return (
            f"{self.owner}: key template {self.template!r} {self.fact}. {self.advice} [{self.code}]"
        )


class KeyTemplateInvalid(_TemplateError):
    """A key template is malformed or ambiguous, or the type of a field cannot be a key part."""

    code = "key-template-invalid"


class KeyRangeInvalid(_TemplateError):
    """A key template cannot give exactly the range or prefix that was asked for."""

    code = "key-range-invalid"


class MissingKeyPart(KeyfoldError, ValueError):
    """A key cannot be rendered because one of its parts was not given."""

    code = "key-missing-part"

    def __init__(self, owner: str, template: str, part: str, given: tuple[str, ...]) -> None:
        super().__init__(owner, template, part, given)
        self.owner, self.template, self.part, self.given = owner, template, part, given

    def __str__(self) -> str:
        got = ", ".join(self.given) or "nothing"
        return (
            f"{self.owner}: key template {self.template!r} needs {self.part!r}; "
            f"got {got}. [{self.code}]"
        )


class KeyPartInvalid(KeyfoldError, ValueError):
    """A value cannot be a part of a key; `received` shows the value, cut off if it is long."""

    code = "key-part-invalid"

    def __init__(
        self, owner: str, template: str, part: str, fact: str, received: str, advice: str
    ) -> None:
        super().__init__(owner, template, part, fact, received, advice)
        self.owner, self.template, self.part = owner, template, part
        self.fact, self.received, self.advice = fact, received, advice

    def __str__(self) -> str:
        return (
            f"{self.owner}: part {self.part!r} of key template {self.template!r} {self.fact}; "
            f"got {self.received}. {self.advice} [{self.code}]"
        )
