"""Single-table DynamoDB design as running Python.

>>> import keyfold
>>> from keyfold import Entity, Key, Table
>>> songs = Table("Songs", key=Key("pk"))
>>> class Song(Entity, table=songs, key="SONG#{title}"):
...     title: str
...     artist: str
>>> with keyfold.open(songs, ":memory:") as store:
...     _ = store.run(Song(title="Sinnerman", artist="Nina Simone").put())
...     store.run(Song.get(title="Sinnerman"))
Song(title='Sinnerman', artist='Nina Simone')

Importing the package loads no submodules: the names that it exports are imported when one of them is
first used, so that `keyfold --help` does not wait for pydantic.
"""

from __future__ import annotations

from importlib import import_module

# Equal to typing.TYPE_CHECKING at run time. Importing typing would load much of the standard library.
TYPE_CHECKING = False

__version__ = "0.1.0"

if TYPE_CHECKING:
    from keyfold._exports import *  # noqa: F403 - the one list of exports
else:

    def __getattr__(name: str) -> object:
        # Other special names, such as __path__, are looked up by tools that want no exports.
        if name == "__all__" or not name.startswith("__"):
            found = vars(import_module("keyfold._exports"))
            # pytest adds names that begin with "@" to the modules of a package with a plugin.
            exported = {each: found[each] for each in found if each[0].isalpha()}
            globals().update(exported, __all__=sorted([*exported, "__version__"]))
            if name in globals():
                return globals()[name]
        raise AttributeError(f"module 'keyfold' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})
