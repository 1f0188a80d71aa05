"""Imports point downward, and packages say what they export."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import keyfold

SOURCE = Path(keyfold.__file__).parent
# Every package, and the one public module of the root that only exports.
PACKAGES = [*sorted(SOURCE.rglob("__init__.py")), SOURCE / "requests.py"]
MODULES = sorted(SOURCE.rglob("*.py"))

# The house style's table: a package, and those that it may import. What those may
# import in turn, it may import too. The root is the package `keyfold` itself.
ROOT = "keyfold"
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    # It exports what users need by a lookup that loads nothing until it is asked.
    ROOT: ("connect",),
    "errors": (),
    "clocks": ("errors",),
    "terminals": (),
    "values": ("clocks",),
    "api": ("values",),
    "capacity": ("values",),
    "expressions": ("api",),
    "keys": ("values",),
    # A table declares its roles, and checks that they fit its shards.
    "model": ("api", "expressions", "keys", "policy"),
    # It exports kinds of the model's requests.
    "requests": ("model",),
    "engine": ("api", "capacity", "expressions"),
    "policy": ("api", "expressions", "keys"),
    "wire": ("api", "expressions"),
    "wire.server": ("wire", "engine", "policy", "terminals"),
    "store": ("model", "policy"),
    "transfer": ("store",),
    "connect": ("store", "engine", "wire"),
    "deploy": ("store",),
    "analysis": ("model", "capacity", "connect"),
    "export": ("analysis",),
    "imports": ("connect", "export"),
    "designs": ("connect", "requests", ROOT),
    # The fixture `keyfold_lint` reviews tables.
    "testing": ("engine", "store", "wire", "analysis"),
    # Its Host, Origin, keys and limits are those of the DynamoDB server.
    "service": ("analysis", "connect", "export", "wire.server"),
    # It runs on the service's server, infers declarations, and moves items.
    "studio": ("analysis", "connect", "designs", "export", "imports", "service", "transfer"),
}
EVERYTHING = "cli"
# Packages that import their names when one of them is first used.
LAZY = {ROOT, "keyfold.testing"}
# The one import that points upward: `Table.open` is `keyfold.open`, which the root looks up when it
# is used. In this way, the method has the function's types, and there is one class of tables.
UPWARD = {("keyfold.model._tables", "keyfold")}


@dataclass(frozen=True, slots=True)
class Arrow:
    """One import: the module it stands in, the line, and the module it names."""

    source: str
    line: int
    target: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line} imports {self.target}"


def module_name(file: Path) -> str:
    """Name a file as Python does: `engine/__init__.py` is `keyfold.engine`."""
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return ".".join((ROOT, *(parts[:-1] if parts[-1] == "__init__" else parts)))


def find_arrows(module: str, code: str, *, is_package: bool) -> Iterator[Arrow]:
    """Yield every import of something of ours, those under TYPE_CHECKING included."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Import(names=names):
                targets = [alias.name for alias in names]
            case ast.ImportFrom(module=base, names=names, level=level):
                if level:
                    parents = module.split(".")
                    kept = len(parents) - level + (1 if is_package else 0)
                    base = ".".join((*parents[:kept], *((base,) if base else ())))
                # A name of the root may be one of its packages.
                targets = [f"{ROOT}.{alias.name}" for alias in names] if base == ROOT else [base]
            case _:
                continue
        for target in targets:
            if target is not None and target.split(".")[0] == ROOT:
                yield Arrow(module, node.lineno, target)


def owner_of(module: str) -> str | None:
    """Name the row of the table that a module belongs to; None where there is none."""
    parts = module.split(".")[1:]
    if parts == ["__main__"]:
        return EVERYTHING
    for length in range(len(parts), 0, -1):
        row = ".".join(parts[:length])
        if row in MAY_IMPORT or row == EVERYTHING:
            return row
    is_of_the_root = len(parts) == 0 or (len(parts) == 1 and hasattr(keyfold, parts[0]))
    return ROOT if is_of_the_root else None


def reachable_from(row: str) -> set[str]:
    """Collect the rows that a row may import, directly or by way of others."""
    found: set[str] = set()
    waiting = [row]
    while waiting:
        for below in MAY_IMPORT[waiting.pop()]:
            if below not in found:
                found.add(below)
                waiting.append(below)
    return found


def is_allowed(arrow: Arrow) -> bool:
    if (arrow.source, arrow.target) in UPWARD:
        return True
    source, target = owner_of(arrow.source), owner_of(arrow.target)
    if source is None or target is None:
        return False
    if source in (target, EVERYTHING):
        return True
    # Only within `wire` is its server a thing of its own; seen from outside, they are one.
    package = target.split(".")[0]
    return (target if source.split(".")[0] == package else package) in reachable_from(source)


def test_imports_point_downward() -> None:
    arrows = [
        arrow
        for file in MODULES
        for arrow in find_arrows(
            module_name(file), file.read_text("utf-8"), is_package=file.name == "__init__.py"
        )
    ]
    assert len(arrows) > len(MODULES)
    assert [str(arrow) for arrow in arrows if not is_allowed(arrow)] == []


@pytest.mark.parametrize(
    ("module", "code", "is_package"),
    [
        ("keyfold.values.sizes", "from keyfold.engine import Engine", False),
        ("keyfold.values.sizes", "import keyfold.engine.engine", False),
        ("keyfold.values", "from ..engine import Engine", True),
        ("keyfold.values.sizes", "from .. import engine", False),
        ("keyfold.engine.engine", "from keyfold import model", False),
        ("keyfold.engine.engine", "from keyfold.cli import main", False),
        ("keyfold.policy._guard", "from keyfold.model import Table", False),
        ("keyfold.wire.client", "from keyfold.engine import Engine", False),
        ("keyfold.wire.client", "from keyfold.wire.server import Server", False),
        ("keyfold.model._tables", "from keyfold.connect import open", False),
        ("keyfold.model._entities", "import keyfold", False),
        ("keyfold.store", "if TYPE_CHECKING:\n    from keyfold.connect import open", True),
        ("keyfold.engine", "def late():\n    from keyfold.store import Store", True),
        ("keyfold.novelty", "from keyfold.errors import KeyfoldError", True),
        ("keyfold", "from keyfold.cli import main", True),
    ],
)
def test_an_upward_arrow_is_found(module: str, code: str, is_package: bool) -> None:
    [arrow] = find_arrows(module, code, is_package=is_package)
    assert not is_allowed(arrow)


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("keyfold.values.sizes", "from keyfold.errors import ValidationException"),
        ("keyfold.engine.engine", "from keyfold.values import Item"),
        ("keyfold.engine.engine", "from keyfold.errors import EngineClosed"),
        ("keyfold.engine.engine", "from ._tables import Table"),
        ("keyfold.wire.server._app", "from keyfold.engine import Engine"),
        ("keyfold.wire.server._app", "from keyfold.wire.client import sign"),
        ("keyfold.testing._server", "from keyfold.wire.server import Server"),
        ("keyfold.designs.market", "from keyfold.model import Table"),
        ("keyfold.model._tables", "import keyfold"),
        ("keyfold.cli._app", "from keyfold import __version__"),
        ("keyfold.cli.verify", "from keyfold.engine import Engine"),
    ],
)
def test_a_downward_arrow_is_allowed(module: str, code: str) -> None:
    [arrow] = find_arrows(module, code, is_package=False)
    assert is_allowed(arrow)


def test_a_package_holds_a_docstring_imports_and_its_exports(subtests: pytest.Subtests) -> None:
    for file in PACKAGES:
        if module_name(file) not in LAZY:
            with subtests.test(package=module_name(file)):
                check_package(file)


def check_package(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"))
    assert ast.get_docstring(tree), "a package says what it is for"
    exported: list[str] | None = None
    imported: set[str] = set()
    for node in tree.body[1:]:
        match node:
            case ast.ImportFrom(module="__future__"):
                pass
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                imported.update(alias.asname or alias.name for alias in names)
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                exported = ast.literal_eval(value)
            case ast.Assign(targets=[ast.Name(id="__version__")]):
                imported.add("__version__")
            case _:
                pytest.fail(f"line {node.lineno}: belongs in a module of its own")
    # A package may be a folder of modules, with nothing to export but its docstring.
    assert sorted(imported) == sorted(exported or [])


def test_the_root_exports_what_its_list_has() -> None:
    code = (SOURCE / "_exports.py").read_text("utf-8")
    imports = [node for node in ast.parse(code).body if isinstance(node, ast.ImportFrom)]
    listed = {alias.asname: node.module for node in imports for alias in node.names}
    exported: dict[str, object] = {}
    exec("from keyfold import *", exported)
    del exported["__builtins__"]
    assert exported.pop("__version__") == keyfold.__version__
    assert exported.keys() == listed.keys()
    for name, module in listed.items():
        assert exported[str(name)] is getattr(sys.modules[str(module)], str(name))
    assert exported.keys() <= set(dir(keyfold))


@pytest.mark.parametrize("name", ["absent", "__wrapped__"])
def test_the_root_exports_nothing_else(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'keyfold' has no attribute '{name}'"):
        getattr(keyfold, name)


def test_importing_the_package_loads_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import keyfold; print(*set(sys.modules) - before)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    names = {name.split(".")[0] for name in loaded.stdout.split()}
    assert names <= {"keyfold", "__future__", "importlib", "warnings"}
