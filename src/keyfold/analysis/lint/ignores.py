"""Rules about `lint_ignore` itself: L01 to L03."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from keyfold.analysis.lint._findings import (
    RemoveIgnore,
    RenameIgnore,
    Severity,
    list_subjects,
    place_of,
)
from keyfold.analysis.lint._rules import Design, DesignProblem, list_rules, rule


@rule(
    "L01",
    "Unknown code in lint_ignore",
    severity=Severity.WARNING,
    fix="Correct the code, or remove it.",
    source="†",
)
def unknown_code(design: Design) -> Iterator[DesignProblem]:
    """A code that no rule has suppresses nothing, although it looks as if it did."""
    known = list_rules()
    for subject in list_subjects(design.table):
        for code in subject.lint_ignore:
            if code not in known:
                meant = _spell(code)
                is_certain = meant in known
                near = [meant] if is_certain else get_close_matches(meant, known, n=1)
                hint = f" Did you mean {near[0]}?" if near else ""
                message = f"Its lint_ignore has {code!r}, not a rule.{hint}"
                edit = RenameIgnore(code, meant) if is_certain else None
                yield DesignProblem(subject, message, edit=edit)


def _spell(code: str) -> str:
    """Return a code as rules have it: "P01" for "p1"."""
    letters = code.strip().rstrip("0123456789")
    return f"{letters.upper()}{code.strip()[len(letters) :]:0>2}"


@rule(
    "L02",
    "Ignored without a reason",
    severity=Severity.WARNING,
    fix='Write why the rule does not apply, as in {"P01": "a nightly job"}.',
    source="†",
)
def without_reason(design: Design) -> Iterator[DesignProblem]:
    """Without the reason, the next reader cannot tell whether it still holds."""
    for subject in list_subjects(design.table):
        for code, reason in subject.lint_ignore.items():
            if not reason or not reason.strip():
                yield DesignProblem(subject, f"It ignores {code} without a reason.")


@rule(
    "L03",
    "Nothing to ignore",
    severity=Severity.NOTE,
    fix="Remove the code from lint_ignore; `keyfold lint --fix` does.",
    source="†",
    needs=frozenset({"findings"}),
)
def nothing_to_ignore(design: Design) -> Iterator[DesignProblem]:
    """An ignore that suppresses nothing now would hide a problem that comes later."""
    used = {(each.ignored_by, each.code) for each in design.findings}
    for subject in list_subjects(design.table):
        for code in subject.lint_ignore:
            is_decided = code in list_rules() and code not in design.undecided
            if is_decided and (place_of(subject).subject, code) not in used:
                message = f"It ignores {code}, which finds nothing here."
                yield DesignProblem(subject, message, edit=RemoveIgnore(code))
