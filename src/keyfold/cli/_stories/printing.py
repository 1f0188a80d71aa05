"""Printing of stories as text."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from keyfold.cli._quantities import count_of
from keyfold.cli._stories.report import StoryReport
from keyfold.cli._stories.teller import Step
from keyfold.cli._terminal import join_styled, show_calls

# Columns that the number of a step takes.
_INDENT = 4


def print_stories(console: Console, reports: list[StoryReport], seconds: float) -> None:
    """Print each step of the stories: what happens, the pattern it runs, its calls, their cost."""
    for report in reports:
        _print_story(console, report)
    _print_summary(console, reports, seconds)


def _print_story(console: Console, report: StoryReport) -> None:
    console.print(join_styled((report.design, "bold"), f"  {report.title}"))
    console.print()
    for number, step in enumerate(report.steps, start=1):
        _print_step(console, number, step)
    console.print()


def _print_summary(console: Console, reports: list[StoryReport], seconds: float) -> None:
    steps = [step for report in reports for step in report.steps]
    right = sum(not step.problems for step in steps)
    units = sum(step.consumed for step in steps)
    console.print(
        f"{right} of {count_of(len(steps), 'step')} as the stories have it; {units:g} capacity "
        f"units, {seconds:.1f} s in all.",
        style="bold green" if right == len(steps) else "bold red",
    )


def _print_step(console: Console, number: int, step: Step) -> None:
    console.print(join_styled((f"{number:>2}  ", "dim"), step.text))
    if step.pattern is not None:
        # A step that was refused before any call cost nothing.
        units = f", {count_of(step.consumed, 'capacity unit')}" if step.calls else ""
        told = join_styled((step.pattern, "italic"), f"  {step.outcome}", (units, "dim"))
        _print_indented(console, told)
        _print_indented(console, show_calls(step.calls))
    elif step.outcome:
        _print_indented(console, join_styled(step.outcome))
    for problem in step.problems:
        console.print(f"✗   {problem}", style="red")


def _print_indented(console: Console, text: Text) -> None:
    """Print a text below the number of its step, wrapped and without trailing spaces."""
    for line in text.wrap(console, console.width - _INDENT):
        line.rstrip()
        if line:
            console.print(join_styled(" " * _INDENT) + line)
