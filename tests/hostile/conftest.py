"""Tests of what a hostile peer does are coroutines where they ask a store."""

from coroutines import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]
