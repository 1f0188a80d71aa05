"""Single-table DynamoDB design as running Python.

What there is to import lies one level down, so that nothing is loaded before it is
needed: `from keyfold.engine import Engine`.

>>> import keyfold
>>> isinstance(keyfold.__version__, str)
True
"""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
