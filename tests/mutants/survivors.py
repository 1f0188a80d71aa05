"""Mutants that no test notices: those of a run, and those that are known, with reasons."""

from __future__ import annotations

import ast
import difflib
import json
import re
import textwrap
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

KNOWN_FILE = Path(__file__).with_name("survivors.toml")

# mutmut's exit codes of mutants that no test has noticed: all tests passed, there are none, or it was
# not run. Any other one means that a test failed, took too long, or that the process died.
_SURVIVED = (0, 33, None)
# Those of mutants that took too long, as the watchdog or mutmut itself has found.
_STOPPED = (24, -24, 36, 152, 255)
_ORIGINAL = "orig"


class Mutant(NamedTuple):
    """A change of a function: its module, its name, the lines that are replaced, and by what."""

    module: str
    function: str
    was: str
    now: str


class MutantRun(NamedTuple):
    """The number of mutants that were made, those that survived, and how many were stopped."""

    total: int
    survivors: tuple[Mutant, ...]
    stopped: int = 0


def read_run(folder: Path, modules: Iterable[str]) -> MutantRun:
    """Return what mutmut found in some modules; `folder` has its mutated copy of the package."""
    total, stopped, survivors = 0, 0, list[Mutant]()
    for module in modules:
        path = folder / module
        results: dict[str, int | None] = json.loads(
            path.with_name(f"{path.name}.meta").read_text("utf-8")
        )["exit_code_by_key"]
        total += len(results)
        stopped += sum(code in _STOPPED for code in results.values())
        lived = {key.rpartition(".")[2] for key, code in results.items() if code in _SURVIVED}
        survivors += find_changes(module, path.read_text("utf-8"), lived)
    return MutantRun(total, tuple(survivors), stopped)


def find_changes(module: str, source: str, names: Iterable[str]) -> Iterator[Mutant]:
    """Yield what the named variants of functions change, given a module that mutmut has written."""
    functions = {
        node.name: node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    lines = source.splitlines(keepends=True)

    def read(name: str, plain: str) -> list[str]:
        node = functions[name]
        text = textwrap.dedent("".join(lines[node.lineno - 1 : node.end_lineno]))
        return text.replace(name, plain, 1).splitlines()

    for name in sorted(names, key=_natural_order):
        stem, _, _ = name.rpartition("__mutmut_")
        plain = stem.rpartition("ǁ")[2] if "ǁ" in stem else stem.removeprefix("x_")
        before = read(f"{stem}__mutmut_{_ORIGINAL}", plain)
        was, now = _compare(before, read(name, plain))
        owner = stem.split("ǁ")[1] + "." if "ǁ" in stem else ""
        yield Mutant(module, f"{owner}{plain}", was, now)


def _natural_order(name: str) -> tuple[str, int]:
    stem, _, number = name.rpartition("_")
    return stem, int(number)


def _compare(before: list[str], after: list[str]) -> tuple[str, str]:
    """Return the lines that differ, before and after, without their indentation."""
    was, now = list[str](), list[str]()
    for line in difflib.ndiff(before, after):
        if line[0] in "-+":
            (was if line[0] == "-" else now).append(line[2:].strip())
    return "\n".join(was), "\n".join(now)


class KnownSurvivors(NamedTuple):
    """The survivors that are listed, with the reason of each."""

    reasons: dict[Mutant, str]

    @classmethod
    def load(cls, path: Path = KNOWN_FILE) -> KnownSurvivors:
        """Read the list."""
        listed: list[dict[str, Any]] = tomllib.loads(path.read_text("utf-8")).get("survivor", [])
        return cls(
            {
                Mutant(each["module"], each["function"], each["was"], now): each["reason"]
                for each in listed
                for now in each["now"]
            }
        )


def render(reasons: dict[Mutant, str]) -> str:
    """Return a list of survivors as TOML: those of one line together, if they have one reason."""
    blocks: dict[tuple[str, str, str, str], list[str]] = {}
    for mutant, reason in sorted(reasons.items()):
        key = (mutant.module, mutant.function, mutant.was, reason)
        blocks.setdefault(key, []).append(mutant.now)
    written: list[str] = []
    for (module, function, was, reason), now in blocks.items():
        shown = "".join(f"    {_quote(each)},\n" for each in now)
        written.append(
            f"[[survivor]]\nmodule = {_quote(module)}\nfunction = {_quote(function)}\n"
            f"was = {_quote(was)}\nnow = [\n{shown}]\nreason = {_quote(reason)}\n"
        )
    return "\n".join(written)


def _quote(text: str) -> str:
    if "\n" not in text and "'" not in text:
        return f"'{text}'"
    # A JSON string is a TOML string.
    return json.dumps(text, ensure_ascii=False)


def report(run: MutantRun, known: KnownSurvivors, modules: Iterable[str]) -> tuple[str, bool]:
    """Return a report, and whether each survivor is listed."""
    modules = set(modules)
    listed = {each: why for each, why in known.reasons.items() if each.module in modules}
    found = set(run.survivors)
    new = sorted(found - listed.keys())
    gone = sorted(listed.keys() - found)
    reasons = Counter(listed[each].partition(":")[0] for each in found & listed.keys())
    killed, survived = run.total - len(run.survivors), len(run.survivors)
    ended = f"{killed} killed ({run.stopped} never ended), {survived} survived"
    lines = [f"{run.total} mutants: {ended}, {len(new)} not listed."]
    lines += [f"  {count} listed: {reason}" for reason, count in reasons.most_common()]
    lines += [f"\nKilled now, or gone; remove it from the list:\n{_show(each)}" for each in gone]
    lines += [f"\nSurvived, and is not listed:\n{_show(each)}" for each in new]
    return "\n".join(lines), not new


def _show(mutant: Mutant) -> str:
    was = textwrap.indent(mutant.was, "  - ", lambda _: True)
    now = textwrap.indent(mutant.now, "  + ", lambda _: True)
    return f"  {mutant.module}, {mutant.function}\n{was}\n{now}"


def is_reason(text: str) -> bool:
    """Return whether a text begins with one of the reasons for which a survivor may be listed."""
    return re.match(r"(equivalent|wording|speed|type|defence|other tests): \S", text) is not None
