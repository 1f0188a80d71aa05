"""DynamoDB for tests: all DynamoDB clients of the process use an in-memory engine.

>>> from keyfold.testing import dynamodb
>>> with dynamodb() as service:
...     service.execute("ListTables", {})
{'TableNames': []}

Importing the package loads no submodules: pytest imports the plugin in it wherever Keyfold is installed,
whether or not a test uses it.
"""

from __future__ import annotations

from importlib import import_module

# As in the root.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from keyfold.testing._exports import *  # noqa: F403 - the one list of exports
else:

    def __getattr__(name: str) -> object:
        if name == "__all__" or not name.startswith("_"):
            exports = import_module("keyfold.testing._exports")
            globals().update({each: vars(exports)[each] for each in exports.__all__})
            globals()["__all__"] = exports.__all__
            if name in globals():
                return globals()[name]
        raise AttributeError(f"module 'keyfold.testing' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})
