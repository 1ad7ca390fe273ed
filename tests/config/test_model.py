from __future__ import annotations

import dataclasses
import inspect

import pytest

from tornado_proxy.config import model
from tornado_proxy.config.model import Actions, DeleteAction, GetAction, HeadAction, PutAction


@pytest.mark.parametrize(
    ("actions", "methods"),
    [
        (Actions(), ("GET", "HEAD")),
        (Actions(put=PutAction(enabled=True), delete=DeleteAction(enabled=True)), ("GET", "HEAD", "PUT", "DELETE")),
        (Actions(get=GetAction(enabled=False), head=HeadAction(enabled=False)), ()),
    ],
)
def test_methods_are_those_that_are_enabled(actions, methods):
    """The methods stand in the order of an Allow header; GET and HEAD are on, PUT and DELETE off by default."""
    assert actions.methods == methods


@pytest.mark.parametrize("kind", [each for _, each in inspect.getmembers(model, dataclasses.is_dataclass)])
def test_every_part_of_the_settings_is_frozen(kind):
    """No part of a configuration can be changed once it is made."""
    assert kind.__dataclass_params__.frozen
