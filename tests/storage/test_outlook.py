"""What S3 answers to the attempts of a plan now."""

from __future__ import annotations

import pytest
from memory_store import MemoryStore

from tornado_proxy.routing.plan import Browse, Redirect, RedirectToSignedUrl, Refuse, Serve
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.storage.errors import Unreachable
from tornado_proxy.storage.probe import look

KEY, MISSING, DIRECTORY = ObjectKey("d/a.txt"), ObjectKey("d/b.txt"), ObjectKey("d/")
NOTHING = Refuse(404, "no object at this key")


@pytest.fixture
def store():
    """A store with one object."""
    store = MemoryStore()
    store.add(KEY, b"text")
    return store


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [
        ((Serve(KEY), NOTHING), Serve(KEY)),
        ((Serve(MISSING), NOTHING), NOTHING),
        ((Serve(MISSING), Browse(DIRECTORY), NOTHING), Browse(DIRECTORY)),
        ((Browse(ObjectKey("e/")), NOTHING), NOTHING),
        ((Browse(ObjectKey("e/"), root=True), NOTHING), Browse(ObjectKey("e/"), root=True)),
        ((Redirect("/d/", DIRECTORY), NOTHING), Redirect("/d/", DIRECTORY)),
        ((Redirect("/e/", ObjectKey("e/")), NOTHING), NOTHING),
        ((Redirect("/e/"), NOTHING), Redirect("/e/")),
        ((RedirectToSignedUrl(KEY, 60), NOTHING), RedirectToSignedUrl(KEY, 60)),
        ((), None),
    ],
)
async def test_the_first_attempt_that_applies_is_found(store, attempts, expected):
    """Attempts that find nothing hand over to the next."""
    assert (await look(store, attempts)).attempt == expected


async def test_the_object_is_described(store):
    """The outlook has the headers of the object that would be served."""
    assert (await look(store, (Serve(KEY),))).info.size == 4


async def test_a_failure_is_an_answer(store, monkeypatch):
    """A bucket that cannot be reached is reported with its status."""

    async def fail(_key, _conditions):
        raise Unreachable("S3 cannot be reached")

    monkeypatch.setattr(store, "head", fail)
    assert (await look(store, (Serve(KEY),))).error == "502 Bad Gateway: S3 cannot be reached"
