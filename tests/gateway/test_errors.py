"""Each error has a status and a message that reveals nothing."""

from __future__ import annotations

import errno

import pytest

from tornado_proxy.auth.authenticator import AuthBusy
from tornado_proxy.gateway.answer import Refusal, refusal, refusal_of
from tornado_proxy.gateway.custom_pages import PageFailed
from tornado_proxy.gateway.exchange import CrossOrigin
from tornado_proxy.gateway.incoming import BodyTimeout, ClientDisconnected, HeadTooLarge, MalformedMessage
from tornado_proxy.gateway.upload import FormTooLarge, MalformedForm, NotAForm
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.routing.request import STATUSES, BadAddress, RequestError, status_of
from tornado_proxy.rules.model import RewriteError
from tornado_proxy.storage.errors import (
    AccessDenied,
    BucketMissing,
    Busy,
    ObjectExists,
    ObjectMissing,
    PreconditionFailed,
    RangeUnsatisfiable,
    StorageError,
    TimedOut,
    TooLarge,
    Unreachable,
    UpstreamError,
)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (MalformedMessage, 400),
        (MalformedForm, 400),
        (CrossOrigin, 403),
        (BodyTimeout, 408),
        (FormTooLarge, 413),
        (NotAForm, 415),
        (HeadTooLarge, 431),
        (ClientDisconnected, 499),
    ],
)
def test_an_error_of_a_request_has_a_status(kind, status):
    """Each is a request error, with a row of its own or its parent's."""
    assert issubclass(kind, RequestError)
    assert status_of(kind("x")) == status


RETRY = (("Retry-After", "2"),)

TABLE = [
    (BadAddress("secret"), 400, ()),
    (NotAForm("secret"), 415, ()),
    (ObjectMissing("secret"), 404, ()),
    (BucketMissing("secret"), 502, ()),
    (AccessDenied("secret"), 403, ()),
    (PreconditionFailed("secret"), 412, ()),
    (RangeUnsatisfiable("secret", 12), 416, (("Content-Range", "bytes */12"),)),
    (RangeUnsatisfiable("secret", 0), 416, (("Content-Range", "bytes */0"),)),
    (RangeUnsatisfiable("secret"), 416, ()),
    (ObjectExists("secret"), 409, ()),
    (TooLarge("secret"), 413, ()),
    (Busy("secret"), 503, RETRY),
    (TimedOut("secret"), 504, ()),
    (Unreachable("secret"), 502, ()),
    (UpstreamError("secret"), 502, ()),
    (AuthBusy("secret"), 503, RETRY),
    (ZeroDivisionError("secret"), 500, ()),
]


@pytest.mark.parametrize(("error", "status", "headers"), TABLE)
def test_each_error_has_its_answer(error, status, headers):
    """The table gives the status and the headers."""
    refused = refusal(error)
    assert (refused.status, refused.headers) == (status, headers)


@pytest.mark.parametrize(("error", "status", "headers"), TABLE)
def test_no_client_learns_what_an_error_says(error, status, headers):
    """The message contains neither the error's text nor its name."""
    message = refusal(error).message
    assert "secret" not in message
    assert type(error).__name__ not in message


def _tree(kind):
    return {kind.__name__, *(name for child in kind.__subclasses__() for name in _tree(child))}


def test_every_row_is_an_error_and_every_error_has_a_row():
    """The rows are names, each of a class of the five trees; a store's errors have one each, and so have a rewrite's."""
    of_store, of_rewrite = _tree(StorageError), _tree(RewriteError) - {"RewriteError"}
    assert set(STATUSES) <= of_store | of_rewrite | _tree(RequestError) | _tree(AuthBusy) | _tree(PageFailed)
    assert (of_store - {"Unreachable", "UpstreamError"}) | of_rewrite <= set(STATUSES)


def test_only_what_no_row_knows_is_a_defect():
    """Only an exception without a row is a defect."""
    assert [refusal(error).is_defect for error, *_ in TABLE] == [False] * (len(TABLE) - 1) + [True]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Busy("SlowDown"), "Busy: SlowDown"),
        (Busy(), "Busy"),
        (BadAddress("the path is bad"), "the path is bad"),
        (KeyError("x"), "`KeyError` was raised"),
    ],
)
def test_the_operator_learns_what_happened(error, reason):
    """The reason names the error."""
    assert refusal(error).reason == reason


def test_a_refused_method_shows_what_is_allowed():
    """A 405 carries Allow, even an empty one; no other status does."""
    assert refusal_of(Refuse(405, "not enabled", ("GET", "HEAD"))).headers == (("Allow", "GET, HEAD"),)
    assert refusal_of(Refuse(405, "nothing is enabled")).headers == (("Allow", ""),)
    assert refusal_of(Refuse(403, "no")).headers == ()


def test_a_challenge_asks_for_credentials():
    """A 401 carries WWW-Authenticate, and the reason stays in the log."""
    refused = refusal_of(Refuse(401, "wrong password", challenge='Basic realm="x"'))
    assert (refused.status, refused.headers) == (401, (("WWW-Authenticate", 'Basic realm="x"'),))
    assert "password" not in refused.message


def test_an_unknown_status_has_a_message_too():
    """A status without a message of its own has a general one."""
    assert Refusal(418, "teapot").message == "The request could not be answered"


@pytest.mark.parametrize("error", [MalformedForm("x"), NotAForm("x")])
def test_an_upload_that_is_no_form_is_answered_with_what_an_upload_is(error):
    """The message says how a file is uploaded."""
    assert "field “file”" in refusal(error).message


def test_a_shortage_is_no_defect():
    """A lack of descriptors is a 503 with Retry-After."""
    refused = refusal(OSError(errno.EMFILE, "Too many open files"))
    assert (refused.status, refused.reason, refused.is_defect) == (503, "Too many open files", False)
    assert ("Retry-After", "2") in refused.headers
