"""Whether a benchmark got slower since a commit, by running both trees in turn.

python -m benchmarks.compare BASE
python -m benchmarks.compare BASE guard store --rounds 9

Each tree runs its own benchmarks, because names differ between commits; their rows are matched by
name. A row is marked if the middle halves of the two do not overlap and their medians differ by at
least 2 %.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, cast

from benchmarks._report import make_table, show
from benchmarks._rounds import Figure, Row, rotate

ROOT = Path(__file__).parents[1]

# Short runs, in several processes: figures vary more between processes than within one.
BENCHES = {
    "engine": ["--sizes", "10k", "--no-moto", "--rounds", "30"],
    "store": ["--rounds", "20"],
    "guard": ["--rounds", "30"],
    "inprocess": ["--rounds", "5", "--starts", "3"],
}
# Figures of ours; all others are those of other libraries, or are derived.
_OURS = frozenset(
    ("engine", "keyfold", "keyfold engine", "typed", "typed engine", "plain", "guarded", "sent")
) | {"open", "own_mib", "indexed_bytes", "plain_bytes"}
_LABELS = ("items", "role", "name")
_LEAST = 1.02


def main() -> None:
    """Run the chosen benchmarks of both trees, and print a table."""
    options = _parse_options()
    results: dict[str, Row] = {}
    with tempfile.TemporaryDirectory(prefix="keyfold-base-") as folder:
        _check_out(options.base, Path(folder))
        trees = [("base", Path(folder)), ("now", ROOT)]
        for number in range(options.rounds):
            for bench in options.benches:
                print(f"round {number + 1} of {options.rounds}: {bench}", file=sys.stderr)
                measured = {name: _run(tree, bench) for name, tree in rotate(trees, number)}
                for row in dict.fromkeys((*measured["base"], *measured["now"])):
                    found = {name: rows[row] for name, rows in measured.items() if row in rows}
                    results.setdefault(row, Row({}, ("now", "base"))).add(found)
    _show(results)


def _check_out(commit: str, folder: Path) -> None:
    """Write the files of a commit into a folder."""
    command = ["git", "-C", str(ROOT), "archive", commit]
    packed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")


def _run(tree: Path, bench: str) -> dict[str, float]:
    """Run a benchmark of a tree on the tree's sources; return our figures by name."""
    command = [sys.executable, "-m", f"benchmarks.bench_{bench}", "--json", *BENCHES[bench]]
    path = os.pathsep.join((str(tree / "src"), str(tree)))
    done = subprocess.run(
        command,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(f"compare: bench_{bench} of {tree} failed:\n{done.stderr}")
    return dict(_read_rows(json.loads(done.stdout), (bench,)))


def _read_rows(found: Any, name: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    """Yield the name and the figure of each row in the JSON of a benchmark."""
    if isinstance(found, list):
        for each in cast(list[Any], found):
            yield from _read_rows(each, name)
    if not isinstance(found, dict):
        return
    fields = cast(dict[str, Any], found)
    name += tuple(str(fields[label]) for label in _LABELS if label in fields)
    for key, value in fields.items():
        figure = key.removesuffix("_us").removesuffix("_ms")
        if key == "bare_us" and isinstance(value, dict):
            # Older commits have the engine's share of each library there.
            shares = cast(dict[str, float], value)
            yield from _read_rows({f"{each} engine": shares[each] for each in shares}, name)
        elif isinstance(value, (dict, list)):
            yield from _read_rows(value, name)
        elif figure in _OURS:
            yield ", ".join((*name, figure)), float(value)


def _show(results: dict[str, Row]) -> None:
    matched = {name: row for name, row in results.items() if row.ratio() is not None}
    cells: list[Sequence[str]] = []
    for name, row in matched.items():
        base, now, ratio = row.figure("base"), row.figure("now"), row.ratio()
        assert base is not None and now is not None and ratio is not None  # noqa: PT018 - matched
        spread = " to ".join(map(show, ratio.quartiles))
        cells.append([name, show(base), show(now), show(ratio), spread, _mark(base, now)])
    print(make_table(("row", "base", "now", "now / base", "middle half", ""), cells))
    for name, row in results.items():
        if name not in matched:
            print(f"- only in {', '.join(row.contestants)}: {name}")


def _mark(base: Figure, now: Figure) -> str:
    if now.quartiles[0] > base.quartiles[1] and now.median > base.median * _LEAST:
        return "worse"
    is_better = now.quartiles[1] < base.quartiles[0] and base.median > now.median * _LEAST
    return "better" if is_better else ""


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="compare", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("base", help="the commit to compare the working tree with")
    names = ", ".join(BENCHES)
    parser.add_argument("benches", nargs="*", metavar="BENCH", help=f"of {names}; default: all")
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        help="how many processes each tree starts for each benchmark (default: %(default)s)",
    )
    options = parser.parse_args()
    options.benches = options.benches or [*BENCHES]
    if not BENCHES.keys() >= {*options.benches}:
        parser.error(f"a BENCH is one of {names}")
    return options


if __name__ == "__main__":
    main()
