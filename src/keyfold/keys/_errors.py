"""What is wrong with a key, a part of one, or an id."""

from __future__ import annotations

from keyfold.errors import KeyfoldError

MAX_SHOWN = 80
_KEPT = 60


def show(value: object) -> str:
    """Write a value for a message, and only the beginning of a long one.

    >>> show("x#O"), show(7)
    ("'x#O'", '7')
    >>> show("x" * 81)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'… (81 characters)"
    """
    if isinstance(value, str):
        # A str that is an id or a member of an enum is shown as the text that it is.
        text = str.__str__(value)
        if len(text) <= MAX_SHOWN:
            return repr(text)
        return f"{text[:_KEPT]!r}… ({len(text)} characters)"
    try:
        shown = repr(value)
    except Exception:  # noqa: BLE001 # a value that cannot be shown must not hide what is wrong
        return f"<{type(value).__name__}>"
    return shown if len(shown) <= MAX_SHOWN else f"{shown[:_KEPT]}… ({len(shown)} characters)"


class IdInvalid(KeyfoldError, ValueError):
    """A text is no id of this type, or a time is none that an id can hold."""

    code = "id-invalid"

    def __init__(self, kind: str, fact: str, received: str, advice: str) -> None:
        super().__init__(kind, fact, received, advice)
        self.kind, self.fact, self.received, self.advice = kind, fact, received, advice

    def __str__(self) -> str:
        return f"{self.kind}: {self.fact}; got {self.received}. {self.advice} [{self.code}]"


class _TemplateError(KeyfoldError, ValueError):
    """Something about one key template; `owner` is the entity or index that has it."""

    def __init__(self, owner: str, template: str, fact: str, advice: str) -> None:
        super().__init__(owner, template, fact, advice)
        self.owner, self.template, self.fact, self.advice = owner, template, fact, advice

    def __str__(self) -> str:
        return (
            f"{self.owner}: key template {self.template!r} {self.fact}. {self.advice} [{self.code}]"
        )


class KeyTemplateInvalid(_TemplateError):
    """A key template is malformed, ambiguous, or has a part of a type that cannot be one."""

    code = "key-template-invalid"


class KeyRangeInvalid(_TemplateError):
    """A range or a beginning was asked of a key template that cannot give it exactly."""

    code = "key-range-invalid"


class MissingKeyPart(KeyfoldError, ValueError):
    """A key cannot be rendered, since a part of it was not given."""

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
    """A value cannot stand in a key: `received` shows it, or the beginning of a long one."""

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
