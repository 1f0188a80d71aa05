"""A plugin of pytest for runs of mutants."""

from __future__ import annotations

from _pytest.nodes import Node
from hypothesis import HealthCheck, Phase, settings

# A mutant is killed by the first example that fails: making it smaller would take most of the time.
settings.register_profile(
    "mutants",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=25,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)

# mutmut 3.8 reads an attribute of tests that pytest 9.2 has renamed.
if not hasattr(Node, "_nodeid"):
    Node._nodeid = property(lambda node: node.nodeid)  # pyright: ignore - the point of this line
