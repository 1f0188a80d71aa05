"""`keyfold doc`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.program import Run

DESIGNS = ("exchange_rates", "letsgo", "market", "pantry")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("design", DESIGNS)
def test_a_design_is_printed_as_markdown(run: Run, design: str) -> None:
    outcome = run("doc", design)
    assert outcome.code == 0
    assert outcome.out.startswith("# ")
    assert "## Access patterns\n" in outcome.out
    assert outcome.out.endswith("\n")
    assert not outcome.out.endswith("\n\n")


def test_a_document_has_no_path_of_this_machine(run: Run) -> None:
    root = Path(__file__).resolve().parents[3]
    assert str(root) not in run("doc", "pantry").out


def test_a_document_is_an_object_as_json(run: Run) -> None:
    document = json.loads(run("doc", "pantry", "--json").out)
    assert document["table"] == "Pantry"
    [patterns] = [each for each in document["sections"] if each["title"] == "Access patterns"]
    rows = {row["pattern"]: row for row in patterns["blocks"][0]["rows"]}
    assert rows["ListOfExpiredJoinLinks"]["index"] == "JoinLinkIndex"
    assert rows["GetUser"]["read units"] == "0.5"


def test_the_name_of_a_file_decides_the_format(run: Run) -> None:
    run("doc", "pantry", "--output", "pantry.html")
    run("doc", "pantry", "--output", "pantry.md")
    assert Path("pantry.html").read_text("utf-8").startswith("<!doctype html>")
    assert Path("pantry.md").read_text("utf-8") == run("doc", "pantry").out
    assert run("doc", "pantry", "--format", "html").out.startswith("<!doctype html>")


def test_pictures_are_written_and_linked_from_where_the_document_is(run: Run) -> None:
    outcome = run("doc", "pantry", "--output", "docs/pantry.md", "--svg", "docs/pictures")
    assert (outcome.code, outcome.out) == (0, "")
    text = Path("docs/pantry.md").read_text("utf-8")
    assert "](pictures/Pantry-UserGroupIndex.svg)" in text
    names = sorted(each.name for each in Path("docs/pictures").iterdir())
    assert names == ["Pantry-JoinLinkIndex.svg", "Pantry-UserGroupIndex.svg", "Pantry.svg"]
    # What is printed is linked from the folder in which the command runs.
    assert "](docs/pictures/Pantry.svg)" in run("doc", "pantry", "--svg", "docs/pictures").out


def test_check_tells_that_a_document_is_up_to_date(run: Run) -> None:
    run("doc", "pantry", "--output", "pantry.md", "--svg", ".")
    outcome = run("doc", "pantry", "--check", "pantry.md", "--svg", ".")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


def test_check_says_where_a_document_is_stale_and_how_to_renew_it(run: Run) -> None:
    run("doc", "pantry", "--output", "the pantry.md")
    file = Path("the pantry.md")
    text = file.read_text("utf-8")
    file.write_text(text.replace("| `SK` | String |", "| `SK` | Number |", 1), "utf-8")
    line = next(n for n, each in enumerate(text.splitlines(), 1) if "| `SK` | String |" in each)
    outcome = run("doc", "pantry", "--check", "the pantry.md")
    assert outcome.code == 1
    renew = "keyfold doc pantry --output 'the pantry.md'"
    assert outcome.err == f"the pantry.md:{line} is stale; run `{renew}`.\n"
    assert file.read_text("utf-8") != text  # nothing was written


def test_check_finds_lines_at_the_end(run: Run) -> None:
    run("doc", "pantry", "--output", "pantry.md")
    text = Path("pantry.md").read_text("utf-8")
    Path("pantry.md").write_text(text + "more\n", "utf-8")
    outcome = run("doc", "pantry", "--check", "pantry.md")
    assert outcome.err.startswith(f"pantry.md:{len(text.splitlines()) + 1} is stale")


def test_check_finds_files_that_do_not_exist(run: Run) -> None:
    run("doc", "pantry", "--output", "pantry.md", "--svg", ".")
    Path("Pantry.svg").unlink()
    outcome = run("doc", "pantry", "--check", "pantry.md", "--svg", ".")
    assert outcome.code == 1
    assert outcome.err.startswith("Pantry.svg does not exist; run `keyfold doc pantry ")


def test_units_are_measured_on_a_database_whose_values_are_not_shown(run: Run) -> None:
    run("demo", "--db", "demo.db")
    stored = run("sql", "SELECT PK FROM ExchangeRates", "--db", "demo.db").out
    assert "RATE#USD#TRY" in stored
    outcome = run("doc", "exchange_rates", "--sample", "demo.db")
    assert outcome.code == 0
    assert "measured on a sample of a database" in outcome.out
    assert "RATE#USD#TRY" not in outcome.out


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        (["--output", "a.md", "--check", "b.md"], "give one of them"),
        (["--format", "html", "--svg", "."], "contains its pictures"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    run: Run, words: list[str], fact: str
) -> None:
    outcome = run("doc", "pantry", *words)
    assert outcome.code == 2
    assert fact in " ".join(outcome.err.split())


def test_a_file_that_cannot_be_written_is_refused(run: Run) -> None:
    Path("taken").write_text("", "utf-8")
    outcome = run("doc", "pantry", "--output", "taken/pantry.md")
    assert outcome.code == 2
    assert "cannot be written" in outcome.err
