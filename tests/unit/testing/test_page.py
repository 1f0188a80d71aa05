"""The tests shown on pages of the documentation pass under pytest."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

# Pytester forgets the modules that its run has loaded. The compiled part of this package would go on
# raising the exceptions of the first ones, which nobody would catch.
import_module("cryptography.exceptions")

GUIDES = Path(__file__).resolve().parents[3] / "docs" / "how-to"
TESTS = re.compile(r"^(?:async )?def test_", re.MULTILINE)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["test-your-code.md", "build-web-services.md"])
def test_the_tests_of_the_page_pass(
    page: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "\n".join(PYTHON.findall((GUIDES / page).read_text("utf-8")))
    if "check_songs" in code and find_spec("aioboto3") is not None:
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
