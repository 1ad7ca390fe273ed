import dataclasses

import pytest

from tornado_proxy.routing import plan
from tornado_proxy.routing.keys import ObjectKey

ATTEMPTS = [
    plan.Serve(ObjectKey("a")),
    plan.Browse(ObjectKey("a/")),
    plan.Receive(ObjectKey("a"), "/a"),
    plan.Remove(ObjectKey("a")),
    plan.Sign(ObjectKey("a"), 60),
    plan.Redirect("/a/"),
    plan.Refuse(404, "nothing is there"),
]


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=repr)
def test_an_attempt_is_a_value(attempt):
    """Plans are compared by what they say, and nobody changes one."""
    assert attempt == dataclasses.replace(attempt)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(attempt, dataclasses.fields(attempt)[0].name, "b")


def test_every_attempt_is_one_of_the_seven():
    """The union that readers match on has a member for each attempt."""
    assert {type(each) for each in ATTEMPTS} == set(plan.Attempt.__args__)
