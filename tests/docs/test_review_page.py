"""The page about lint lists the findings about the four designs, open and ignored."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "review-a-design.md"
ROW = re.compile(r"^\| (\w+) \| ([A-Z]\d\d) \| (.+?) \| (.+) \|$", re.MULTILINE)

# In a process of its own, since other tests add entities to the table of letsgo.
REVIEW = """
import json
from keyfold.analysis.lint import review_table
from keyfold.designs import exchange_rates, letsgo, market, pantry

rows = []
for design in (exchange_rates, letsgo, market, pantry):
    found = review_table(design.table)
    rows += [
        (design.table.name, each.code, each.place.subject, each.ignored)
        for each in (*found.findings, *found.ignored)
    ]
print(json.dumps(rows))
"""

Row = tuple[str, str, str]


def read_rows(section: str) -> dict[Row, str]:
    """Return the rows of a table on the page, each with its last cell."""
    found = [(row[0], row[1], row[2], row[3]) for row in ROW.findall(section)]
    rows = {row[:3]: row[3] for row in found}
    assert len(rows) == len(found)
    return rows


def test_the_findings_about_the_designs_are_those_of_the_page() -> None:
    text = PAGE.read_text("utf-8").partition("## The shipped designs")[2]
    listed, _, ignored = text.partition("These are ignored")
    run = subprocess.run([sys.executable, "-c", REVIEW], capture_output=True, check=True, text=True)
    found = [tuple(row) for row in json.loads(run.stdout)]
    assert {row[:3] for row in found if row[3] is None} == read_rows(listed).keys()
    assert {row[:3]: row[3] for row in found if row[3] is not None} == read_rows(ignored)
