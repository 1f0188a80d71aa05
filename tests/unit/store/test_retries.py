"""The rules of retries: pauses, attempts and transient errors."""

from __future__ import annotations

import pytest

from keyfold.errors import (
    AnswerInvalid,
    InternalServerError,
    KeyfoldError,
    OtherServiceError,
    ThrottlingException,
    TransactionCanceledException,
    Unavailable,
    ValidationException,
)
from keyfold.store._retries import Attempts, Backoff, is_transient


def make_attempts(number: int = 1) -> Attempts:
    return Attempts("Query", lambda: 0.5, number, request={"TableName": "Music"})


def test_pauses_grow_up_to_the_longest() -> None:
    backoff = Backoff(0.25, 10.0, factor=1.5)
    assert [backoff.pause(number).seconds for number in (1, 2, 3)] == [0.25, 0.375, 0.5625]
    assert backoff.pause(100_000).seconds == 10.0
    assert backoff.pause(2, share=0.5).seconds == 0.1875


def test_attempts_are_counted_until_they_are_exhausted() -> None:
    attempts, error = make_attempts(3), ThrottlingException("slow down")
    pauses = [attempts.fail(error).seconds for _ in range(7)]
    assert pauses == [0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.0]
    assert (attempts.number, attempts.are_exhausted) == (10, True)
    with pytest.raises(Unavailable, match=r"Query: tried 10 times; .* slow down") as caught:
        attempts.fail(error)
    assert caught.value.__cause__ is error


def test_a_permanent_error_is_raised_as_it_is() -> None:
    error = ValidationException("no such index")
    with pytest.raises(ValidationException, match="no such index") as caught:
        make_attempts().fail(error)
    assert caught.value is error


def test_progress_starts_the_pauses_again() -> None:
    attempts = make_attempts()
    for _ in range(7):
        attempts.stall("nothing was done")
    attempts.progress()
    assert attempts.stall("nothing was done").seconds == 0.025
    assert attempts.number == 9


def cancelled(*codes: str) -> TransactionCanceledException:
    reasons = [{"Code": code} for code in codes]
    return TransactionCanceledException("cancelled", {"CancellationReasons": reasons})


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (InternalServerError(), True),
        (OtherServiceError("RequestLimitExceeded"), True),
        (OtherServiceError("KMSAccessDeniedException"), False),
        (ValidationException(), False),
        (AnswerInvalid("http://localhost", "it is empty"), False),
        (cancelled("None", "TransactionConflict"), True),
        (cancelled("ConditionalCheckFailed", "TransactionConflict"), False),
        (cancelled("None"), False),
    ],
)
def test_transient_errors(error: KeyfoldError, expected: bool) -> None:
    assert is_transient(error) == expected
