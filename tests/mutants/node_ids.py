"""A plugin of pytest for mutmut 3.8, which reads an attribute of tests that pytest 9.2 has renamed."""

from __future__ import annotations

from _pytest.nodes import Node

if not hasattr(Node, "_nodeid"):
    Node._nodeid = property(lambda node: node.nodeid)  # pyright: ignore - the point of this file
