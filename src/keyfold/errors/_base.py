"""The base classes of Keyfold's errors."""

from __future__ import annotations

from typing import ClassVar, dataclass_transform


class KeyfoldError(Exception):
    """The base class of every error that Keyfold raises on purpose."""

    code: ClassVar[str] = "keyfold"
    # A message for clients of an API, by the names of facts. It has no keys and no stored values:
    # classes that do not declare their own say nothing of what happened.
    public_template: ClassVar[str] = "The request could not be carried out."

    @property
    def public(self) -> str:
        """A message for clients of an API: it has no raw keys, stored values or conditions.

        It may quote what the client sent. `str(error)` is for developers and logs.
        """
        return self.public_template

    def __init_subclass__(cls) -> None:
        """Make tracebacks show `keyfold.errors`, from which callers import the error."""
        package, found, _ = cls.__module__.partition("errors._")
        if found:
            cls.__module__ = f"{package}errors"


@dataclass_transform(eq_default=False)
class TemplatedError(KeyfoldError):
    """An error of ours: each class declares its facts as fields, and a template of its message.

    Facts are passed by position or by name and become attributes, as in a dataclass. They are also
    `args`, from which pickle and copy rebuild the error. It is not a dataclass because defining one
    takes much longer, and every program imports all errors.
    """

    message_template: ClassVar[str]
    __match_args__: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__match_args__ = (*cls.__match_args__, *cls.__annotations__)

    def __init__(self, *facts: object, **named: object) -> None:
        names = self.__match_args__
        if named or len(facts) != len(names):
            facts = self._complete(facts, named)
        super().__init__(*facts)
        # OSError keeps only the first two of them.
        self.args = facts
        vars(self).update(zip(names, facts, strict=True))

    @classmethod
    def _complete(cls, facts: tuple[object, ...], named: dict[str, object]) -> tuple[object, ...]:
        """Append the facts that were passed by name, and the defaults of the others."""
        names = cls.__match_args__
        left = names[len(facts) :]
        given = {name: getattr(cls, name) for name in left if hasattr(cls, name)} | named
        if given.keys() != set(left) or len(facts) > len(names):
            raise TypeError(f"{cls.__name__} takes {', '.join(names)}")
        return (*facts, *(given[name] for name in left))

    def __str__(self) -> str:
        text = self.message_template.format_map({**vars(self), **self._words()})
        # Some templates end with advice, which may be empty.
        return f"{text.rstrip(' ')} [{self.code}]"

    @property
    def public(self) -> str:
        """A message for clients of an API: it has no raw keys, stored values or conditions.

        It may quote what the client sent. `str(error)` is for developers and logs.
        """
        return self.public_template.format_map({**vars(self), **self._words()}).rstrip(" ")

    def _words(self) -> dict[str, str]:
        """Return the template's words that are not fields, or that replace the value of one."""
        return {}
