"""A fork after opening: the child is refused, and the parent is not affected."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keyfold.engine import Engine
from keyfold.errors import EngineForked
from tests.unit.engine.storage.programs import run_program
from tests.unit.engine.storage.tables import names

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

# Forks while other threads read and write; an alarm ends a child that hangs.
FORKING = """
import os, signal, sys, threading, warnings
from keyfold.engine import Engine
from keyfold.errors import EngineForked
from tests.unit.engine.storage.tables import add, create, get, names, put

warnings.simplefilter("ignore", DeprecationWarning)  # Python's own about threads and forks
path, busy = sys.argv[1], sys.argv[2] == "busy"
engine = Engine.open(path)
create(engine)
put(engine, "before")
stopping = threading.Event()
failures = []

def keep(work):
    try:
        while not stopping.is_set():
            work()
    except BaseException as error:
        failures.append(repr(error))

works = [lambda: names(engine), lambda: get(engine, "before"), lambda: add(engine, "sum"), lambda: add(engine, "sum")]
threads = [threading.Thread(target=keep, args=(work,)) for work in works if busy]
for thread in threads:
    thread.start()
while busy and get(engine, "sum") is None:
    pass

def act_as_child():
    signal.alarm(100)
    for act in (
        lambda: engine.execute("ListTables", {}),
        lambda: put(engine, "from the child"),
        lambda: names(engine),
        lambda: add(engine, "sum"),
        lambda: engine.verify(),
        lambda: engine.run_upkeep(),
        # SQLite's locks are known to this process though it does not have them: writes that
        # were acknowledged would be lost when the parent closes the file.
        lambda: Engine.open(path),
    ):
        try:
            act()
            return 1
        except EngineForked as error:
            if path not in str(error):
                return 2
    engine.close()
    if not busy:
        # With threads in the midst of SQLite at the fork, no use of SQLite would be safe.
        with Engine.open(path + ".other") as own:
            create(own)
            put(own, "from the child")
            if own.verify():
                return 4
    return 0

for _ in range(20 if busy else 1):
    child = os.fork()
    if child == 0:
        code = 3
        try:
            code = act_as_child()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if status:
        failures.append(f"child ended with {status}")
stopping.set()
for thread in threads:
    thread.join()
put(engine, "after")
if names(engine) != {"before", "after"} | ({"sum"} if busy else set()):
    failures.append("something is missing, or there that should not be")
failures += map(str, engine.verify())
engine.close()
print(failures)
"""


@pytest.mark.parametrize("pace", ["quiet", "busy"])
def test_a_child_is_refused_and_the_parent_goes_on(tmp_path: Path, pace: str) -> None:
    path = tmp_path / "things.db"
    assert run_program(FORKING, path, pace) == "[]"
    with Engine.open(path) as engine:
        assert {"before", "after"} <= names(engine)
        assert engine.verify() == []


LEAVING = """
import os, sys
from keyfold.engine import Engine
from tests.unit.engine.storage.tables import create, put
engine = Engine.open(sys.argv[1])
create(engine)
if os.fork() == 0:
    # The interpreter of a child ends and frees everything it inherited.
    sys.exit()
os.wait()
put(engine, "after")
print(engine.verify())
"""


def test_a_child_that_exits_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    assert run_program(LEAVING, path) == "[]"
    with Engine.open(path) as engine:
        assert names(engine) == {"after"}


def test_the_error_says_what_to_do() -> None:
    assert "forked" in str(EngineForked("things.db"))
