"""The decorator: what it can decorate; every call gets a new service."""

from __future__ import annotations

import asyncio
import inspect
import unittest
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from keyfold.errors import OptionInvalid
from keyfold.testing import Clock, FaultProfile, dynamodb
from tests.unit.testing.tables import CREATE, make_client


def create_table() -> list[str]:
    """Create the table, which fails if it exists; return the names of all tables."""
    client = make_client()
    client.create_table(**CREATE)
    return client.list_tables()["TableNames"]


def is_active() -> bool:
    from keyfold.testing._active import active

    return active.core is not None


def test_every_call_of_a_function_starts_empty() -> None:
    @dynamodb()
    def work(greeting: str, *, name: str) -> str:
        return f"{greeting} {name}: {create_table()}"

    for _ in range(2):
        assert work("Hello", name="Nina") == "Hello Nina: ['Music']"
    assert not is_active()


def test_the_decorator_may_be_used_without_parentheses() -> None:
    @dynamodb
    def work() -> list[str]:
        return create_table()

    assert work() == work() == ["Music"]


def test_the_decorator_takes_options() -> None:
    @dynamodb(clock=Clock(0.0), region="eu-south-2")
    def work() -> tuple[str, float]:
        client = make_client()
        table = client.create_table(**CREATE)["TableDescription"]
        return client.meta.region_name, table["CreationDateTime"].timestamp()

    assert work() == ("eu-south-2", 0.0)


def test_a_decorated_function_keeps_its_name_and_arguments() -> None:
    @dynamodb
    def work(tmp_path: str) -> None:
        """A docstring."""

    assert (work.__name__, work.__doc__) == ("work", "A docstring.")
    # pytest finds fixtures by the parameters.
    assert list(inspect.signature(work).parameters) == ["tmp_path"]


def test_a_coroutine_runs_inside_the_service() -> None:
    @dynamodb
    async def work() -> list[str]:
        await asyncio.sleep(0)
        return create_table()

    assert inspect.iscoroutinefunction(work)
    assert asyncio.run(work()) == ["Music"]
    assert not is_active()


def test_a_generator_runs_inside_the_service_until_it_ends() -> None:
    @dynamodb
    def fixture() -> Iterator[list[str]]:
        yield create_table()
        assert is_active()

    generator = fixture()
    assert not is_active()
    assert next(generator) == ["Music"]
    assert is_active()
    assert list(generator) == []
    assert not is_active()


def test_an_async_generator_runs_inside_the_service_until_it_ends() -> None:
    @dynamodb
    async def fixture() -> AsyncIterator[list[str]]:
        yield create_table()
        assert is_active()

    async def use() -> list[list[str]]:
        return [each async for each in fixture()]

    assert asyncio.run(use()) == [["Music"]]
    assert not is_active()


def test_each_test_of_a_class_starts_empty() -> None:
    @dynamodb
    class TestTables:
        names = "test_names"

        def test_one(self) -> list[str]:
            return create_table()

        async def test_another(self) -> list[str]:
            return create_table()

        def helper(self) -> bool:
            return is_active()

    tests = TestTables()
    assert tests.test_one() == asyncio.run(tests.test_another()) == ["Music"]
    assert not tests.helper()


def run(case: type[unittest.TestCase]) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result


def test_a_test_case_runs_inside_the_service_from_set_up_on() -> None:
    @dynamodb
    class Tables(unittest.TestCase):
        def setUp(self) -> None:
            self.names = create_table()

        def tearDown(self) -> None:
            assert is_active()

        def test_one(self) -> None:
            assert self.names == ["Music"]

        def test_another(self) -> None:
            assert self.names == ["Music"]

    result = run(Tables)
    assert (result.testsRun, result.errors, result.failures) == (2, [], [])
    assert not is_active()


def test_an_async_test_case_runs_inside_the_service() -> None:
    @dynamodb()
    class Tables(unittest.IsolatedAsyncioTestCase):
        async def asyncSetUp(self) -> None:
            self.names = create_table()

        async def test_one(self) -> None:
            assert self.names == ["Music"]

    result = run(Tables)
    assert (result.testsRun, result.errors, result.failures) == (1, [], [])


def test_a_context_manager_can_be_reused_and_nested() -> None:
    entered = dynamodb()
    with entered as outer:
        outer.execute("CreateTable", CREATE)
        with entered as inner:
            assert inner.execute("ListTables", {})["TableNames"] == []
        assert outer.execute("ListTables", {})["TableNames"] == ["Music"]
    with entered as again:
        assert again.execute("ListTables", {})["TableNames"] == []


@pytest.mark.parametrize(
    ("option", "value"), [("clock", lambda: "noon"), ("faults", {"throttling": 1}), ("region", "")]
)
def test_an_invalid_option_is_refused(option: str, value: Any) -> None:
    options: dict[str, Any] = {option: value}
    with pytest.raises(OptionInvalid, match=f"^{option}: got "), dynamodb(**options):
        pass
    assert not is_active()


def test_a_fault_profile_can_be_given_to_the_decorator() -> None:
    faults = FaultProfile(throttling=0.5)
    with dynamodb(faults=faults) as service:
        assert service.faults is faults
