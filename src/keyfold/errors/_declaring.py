"""Errors in a declaration, or in a request while it is built."""

from __future__ import annotations

from keyfold.errors._base import TemplatedError


class DeclarationInvalid(TemplatedError, ValueError):
    """The declaration of a table, entity or collection is invalid; `problems` lists every fault."""

    code = "declaration-invalid"
    message_template = "{problems}"
    problems: tuple[str, ...]

    def _words(self) -> dict[str, str]:
        return {"problems": f" [{self.code}]\n".join(self.problems)}


class _SubjectError(TemplatedError, ValueError):
    """Base of errors about a value or a request: its subject, what is wrong and what to do."""

    message_template = "{subject}: {fact}. {advice}"
    subject: str
    fact: str
    advice: str


class ValueInvalid(_SubjectError):
    """A value cannot be stored."""

    code = "value-invalid"
    public_template = "{field}: {fact}."

    def _words(self) -> dict[str, str]:
        # Clients of an API know nothing of `Song.f.title`.
        return {"field": self.subject.replace(".f.", ".", 1)}

    def inside(self, owner: str) -> ValueInvalid:
        """Return the same error with the field `owner` as its subject."""
        return ValueInvalid(owner, f"{self.fact}: {self.subject}", self.advice)


class QueryInvalid(_SubjectError):
    """A query asks for something that DynamoDB queries cannot do."""

    code = "query-invalid"


class UpdateInvalid(_SubjectError):
    """A write asks for a change that cannot be made."""

    code = "update-invalid"


class WorkloadInvalid(_SubjectError):
    """A workload file cannot be read, or says something that does not fit the table."""

    code = "workload-invalid"


class PricesInvalid(_SubjectError):
    """A file of prices cannot be read, or lacks a price."""

    code = "prices-invalid"


class TrafficInvalid(_SubjectError):
    """A file of recorded traffic cannot be read, or has none of the table."""

    code = "traffic-invalid"


class LintRulesInvalid(_SubjectError):
    """Rules of lint that a package adds cannot be loaded, or one of them fails."""

    code = "lint-rules-invalid"


class WriteRefused(_SubjectError):
    """A write would violate the entity's declaration."""

    code = "write-refused"


class FieldUnknown(TemplatedError, AttributeError):
    """A field was named that does not exist."""

    code = "field-unknown"
    message_template = "{owner}: unknown field {field!r}; known fields: {known}."
    public_template = "{owner}: unknown field {field!r}."
    owner: str
    field: str
    known: tuple[str, ...]

    def _words(self) -> dict[str, str]:
        return {"known": ", ".join(self.known) or "none"}


class PathInvalid(TemplatedError, TypeError):
    """A path into an entity does not exist, or was used as something other than a path."""

    code = "path-invalid"
    message_template = "{path}: {fact}."
    path: str
    fact: str


class ConditionAsTruth(TemplatedError, TypeError):
    """A condition was used as a Python truth value, as `if` and `and` do."""

    code = "condition-as-truth"
    message_template = (
        "{condition}: a condition has no truth value in Python; the database evaluates it. "
        "Combine conditions with &, | and ~, not with and, or, not or chained comparisons."
    )
    condition: str


class KeyFieldChanged(TemplatedError, ValueError):
    """An update would change a field that the item's key is built from."""

    code = "key-field-changed"
    message_template = (
        "{entity}.{field}: the item's key is built from this field, and a key cannot change. "
        "Delete the old item and put the new one in a transaction."
    )
    entity: str
    field: str


class IndexPartsUnknown(TemplatedError, ValueError):
    """An update changes part of an index key without knowing the values of its other parts."""

    code = "index-parts-unknown"
    message_template = (
        "{entity}: the index key {attribute!r} is also built from {fields}. Use update() of an entity "
        "that you have read, or pass the current values with knowing({listed})."
    )
    entity: str
    attribute: str
    fields: tuple[str, ...]

    def _words(self) -> dict[str, str]:
        return {
            "fields": ", ".join(self.fields),
            "listed": ", ".join(f"{name}=…" for name in self.fields),
        }


class _JoinError(TemplatedError, ValueError):
    """Base of errors about requests that cannot be combined."""

    fact: str
    advice: str


class TransactionInvalid(_JoinError):
    """Requests were combined that cannot be one transaction."""

    code = "transaction-invalid"
    message_template = "transaction: {fact}. {advice}"
    # Patterns raise it about what they were given, too. Our own facts have no keys.
    public_template = "The transaction is not valid: {fact}."


class BatchInvalid(_JoinError):
    """Requests were combined that cannot be one batch."""

    code = "batch-invalid"
    message_template = "batch: {fact}. {advice}"


class NotPicklable(_SubjectError, TypeError):
    """A request, or what it refers to, cannot be pickled."""

    code = "not-picklable"


class PatternUnknown(TemplatedError, KeyError):
    """The table has no access pattern of this name."""

    code = "pattern-unknown"
    message_template = "{table}: it has no pattern {name!r}; it has {known}."
    table: str
    name: str
    known: tuple[str, ...]

    def _words(self) -> dict[str, str]:
        return {"known": ", ".join(self.known) or "none"}


class PatternFailed(TemplatedError, RuntimeError):
    """An access pattern raises an error, or returns a request that cannot run.

    The error is the cause (`__cause__`), with its traceback.
    """

    code = "pattern-failed"
    message_template = "pattern {pattern!r}: it raises {error}: {detail}."
    pattern: str
    error: str
    detail: str


class PatternUnexplained(TemplatedError, TypeError):
    """An access pattern cannot be called with placeholders."""

    code = "pattern-unexplained"
    message_template = (
        "pattern {pattern!r}: it cannot be called with placeholders ({detail}). Declare it "
        "with example={{…}}."
    )
    pattern: str
    detail: str
