"""What the system has run out of."""

from __future__ import annotations

import errno

import pytest

from tornado_proxy.telemetry.shortages import shortage


def _raised_from(cause: BaseException) -> BaseException:
    error = ValueError("it did not work")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS])
def test_a_shortage_is_found_behind_what_it_caused(number):
    """The system's error may be the cause of another."""
    error = OSError(number, "the system's words")
    assert shortage(error) == shortage(_raised_from(_raised_from(error))) == "the system's words"


@pytest.mark.parametrize("error", [None, ValueError("x"), OSError(errno.ENOENT, "x"), _raised_from(KeyError("x"))])
def test_other_errors_are_none(error):
    """Everything else is what it says."""
    assert shortage(error) is None


def test_errors_that_caused_each_other_come_to_an_end():
    """A chain may bite its tail."""
    one, other = ValueError("one"), ValueError("other")
    one.__context__, other.__context__ = other, one
    assert shortage(one) is None
