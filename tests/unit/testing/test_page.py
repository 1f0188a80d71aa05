"""The tests shown on the documentation page about testing pass under pytest."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "test-your-code.md"
TESTS = re.compile(r"^(?:async )?def test_", re.MULTILINE)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_tests_of_the_page_pass(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "\n".join(PYTHON.findall(PAGE.read_text("utf-8")))
    if find_spec("aioboto3") is not None:
        code += (
            "\n\ndef test_the_coroutine():\n    import asyncio\n    asyncio.run(check_songs())\n"
        )
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(code)
    result = pytester.runpytest_inprocess(
        *("-p", "keyfold.testing._pytest_plugin", "-p", "no:cacheprovider"),
        *("-p", "pytest_asyncio.plugin", "-o", "asyncio_default_fixture_loop_scope=function"),
    )
    result.assert_outcomes(passed=len(TESTS.findall(code)))
