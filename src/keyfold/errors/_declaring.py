"""Errors in a declaration, or in a request while it is built."""

from __future__ import annotations

from typing import ClassVar

from keyfold.errors._base import KeyfoldError


class DeclarationInvalid(KeyfoldError, ValueError):
    """The declaration of a table, entity or collection is invalid; `problems` lists every fault."""

    code = "declaration-invalid"

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(f"{problem} [{self.code}]" for problem in self.problems)


class _SubjectError(KeyfoldError, ValueError):
    """Base of errors about a value or a request: its subject, what is wrong and what to do."""

    def __init__(self, subject: str, fact: str, advice: str) -> None:
        super().__init__(subject, fact, advice)
        self.subject, self.fact, self.advice = subject, fact, advice

    def __str__(self) -> str:
        advice = f" {self.advice}" if self.advice else ""
        return f"{self.subject}: {self.fact}.{advice} [{self.code}]"


class ValueInvalid(_SubjectError):
    """A value cannot be stored."""

    code = "value-invalid"

    def inside(self, owner: str) -> ValueInvalid:
        """Return the same error with the field `owner` as its subject."""
        return ValueInvalid(owner, f"{self.fact}: {self.subject}", self.advice)


class QueryInvalid(_SubjectError):
    """A query asks for something that DynamoDB queries cannot do."""

    code = "query-invalid"


class UpdateInvalid(_SubjectError):
    """A write asks for a change that cannot be made."""

    code = "update-invalid"


class WriteRefused(_SubjectError):
    """A write would violate the entity's declaration."""

    code = "write-refused"


class FieldUnknown(KeyfoldError, AttributeError):
    """A field was named that does not exist."""

    code = "field-unknown"

    def __init__(self, owner: str, field: str, known: tuple[str, ...]) -> None:
        super().__init__(owner, field, known)
        self.owner, self.field, self.known = owner, field, known

    def __str__(self) -> str:
        known = ", ".join(self.known) or "none"
        return f"{self.owner}: unknown field {self.field!r}; known fields: {known}. [{self.code}]"


class PathInvalid(KeyfoldError, TypeError):
    """A path into an entity does not exist, or was used as something other than a path."""

    code = "path-invalid"

    def __init__(self, path: str, fact: str) -> None:
        super().__init__(path, fact)
        self.path, self.fact = path, fact

    def __str__(self) -> str:
        return f"{self.path}: {self.fact}. [{self.code}]"


class ConditionAsTruth(KeyfoldError, TypeError):
    """A condition was used as a Python truth value, as `if` and `and` do."""

    code = "condition-as-truth"

    def __init__(self, condition: str) -> None:
        super().__init__(condition)
        self.condition = condition

    def __str__(self) -> str:
        return (
            f"{self.condition}: a condition has no truth value in Python; the database evaluates "
            f"it. Combine conditions with &, | and ~, not with and, or, not or chained "
            f"comparisons. [{self.code}]"
        )


class KeyFieldChanged(KeyfoldError, ValueError):
    """An update would change a field that the item's key is built from."""

    code = "key-field-changed"

    def __init__(self, entity: str, field: str) -> None:
        super().__init__(entity, field)
        self.entity, self.field = entity, field

    def __str__(self) -> str:
        return (
            f"{self.entity}.{self.field}: the item's key is built from this field, and a key "
            f"cannot change. Delete the old item and put the new one in a transaction. "
            f"[{self.code}]"
        )


class IndexPartsUnknown(KeyfoldError, ValueError):
    """An update changes part of an index key without knowing the values of its other parts."""

    code = "index-parts-unknown"

    def __init__(self, entity: str, attribute: str, fields: tuple[str, ...]) -> None:
        super().__init__(entity, attribute, fields)
        self.entity, self.attribute, self.fields = entity, attribute, fields

    def __str__(self) -> str:
        listed = ", ".join(f"{name}=…" for name in self.fields)
        return (
            f"{self.entity}: the index key {self.attribute!r} is also built from "
            f"{', '.join(self.fields)}. Pass the current values with knowing({listed}). "
            f"[{self.code}]"
        )


class _JoinError(KeyfoldError, ValueError):
    """Base of errors about requests that cannot be combined."""

    subject: ClassVar[str]

    def __init__(self, fact: str, advice: str) -> None:
        super().__init__(fact, advice)
        self.fact, self.advice = fact, advice

    def __str__(self) -> str:
        return f"{self.subject}: {self.fact}. {self.advice} [{self.code}]"


class TransactionInvalid(_JoinError):
    """Requests were combined that cannot be one transaction."""

    code = "transaction-invalid"
    subject = "transaction"


class BatchInvalid(_JoinError):
    """Requests were combined that cannot be one batch."""

    code = "batch-invalid"
    subject = "batch"


class PatternUnknown(KeyfoldError, KeyError):
    """The table has no access pattern of this name."""

    code = "pattern-unknown"

    def __init__(self, table: str, name: str, known: tuple[str, ...]) -> None:
        super().__init__(table, name, known)
        self.table, self.name, self.known = table, name, known

    def __str__(self) -> str:
        known = ", ".join(self.known) or "none"
        return f"{self.table}: it has no pattern {self.name!r}; it has {known}. [{self.code}]"


class PatternUnexplained(KeyfoldError, TypeError):
    """An access pattern cannot be called with placeholders."""

    code = "pattern-unexplained"

    def __init__(self, pattern: str, detail: str) -> None:
        super().__init__(pattern, detail)
        self.pattern, self.detail = pattern, detail

    def __str__(self) -> str:
        return (
            f"pattern {self.pattern!r}: it cannot be called with placeholders ({self.detail}). "
            f"Declare it with example={{…}}. [{self.code}]"
        )
