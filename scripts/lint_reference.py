"""The reference of lint rules: a table of all, and a page for each family."""

from __future__ import annotations

from collections.abc import Iterator

from keyfold.analysis.lint import Rule, describe_source, list_rules, read_examples

# The families, by page: the letter that their codes begin with.
LINT_FAMILIES = {
    "keys": "K",
    "indexes": "I",
    "patterns": "P",
    "items": "S",
    "operations": "O",
    "ignores": "L",
}
_NEEDS = {"rates": "It needs rates.", "data": "It needs a database (`--db`)."}


def write_lint_table() -> str:
    """Show every lint rule in a table, with a link to its description."""
    rows = ["| code | finds | severity |", "| --- | --- | --- |"]
    for family in LINT_FAMILIES:
        for each in _rules_of(family):
            link = f"[{each.code}](lint-{family}.md#{_anchor(_title_of(each))})"
            rows.append(f"| {link} | {each.title} | {each.severity} |")
    return "\n".join(rows)


def write_lint_rules(family: str) -> str:
    """Show every lint rule of a family under its code, with its example and the near miss."""
    return "\n\n".join("\n\n".join(_write_rule(each)) for each in _rules_of(family))


def _rules_of(family: str) -> list[Rule]:
    # Those that another package adds are not ours to document.
    own = (each for each in list_rules().values() if each.is_own)
    return [each for each in own if each.code.startswith(LINT_FAMILIES[family])]


def _title_of(rule: Rule) -> str:
    return f"{rule.code}: {rule.title}"


def _anchor(title: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    kept = (each for each in title.casefold() if each.isalnum() or each in " -_")
    return "".join(kept).replace(" ", "-")


def _write_rule(rule: Rule) -> Iterator[str]:
    module = rule.check.__module__.removeprefix("keyfold.").replace(".", "/")
    where = f"`{rule.check.__name__}` in `{module}.py`"
    yield f"## {_title_of(rule)}"
    yield " ".join((rule.why, *(_NEEDS[each] for each in sorted(rule.needs) if each in _NEEDS)))
    yield f"**Severity:** {rule.severity}. **Fix:** {rule.fix}"
    yield f"**Source:** {describe_source(rule.source)}. **Code:** {where}."
    example = read_examples().get(rule.code)
    if example is None:
        return
    workload, other = example.workload, example.fine_workload
    yield from _show(example.found, None if other is None else workload)
    yield "A near miss:"
    yield from _show(example.fine, other)
    if workload is not None and other is None:
        yield "The workload of both:"
        yield f"```toml\n{workload.strip()}\n```"


def _show(source: str, workload: str | None) -> Iterator[str]:
    yield f"```py\n{source.strip()}\n```"
    if workload is not None:
        yield "with the workload"
        yield f"```toml\n{workload.strip()}\n```"
