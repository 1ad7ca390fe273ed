"""Each error has a status, and a message that reveals no internals."""

import errno

import pytest

from tornado_proxy.auth.authenticator import AuthBusy
from tornado_proxy.pages.custom import PageFailed
from tornado_proxy.routing.request import BadAddress
from tornado_proxy.semantics.request import StatusError
from tornado_proxy.storage.errors import (
    AccessDenied,
    BucketMissing,
    Busy,
    ConditionIgnored,
    CredentialsRefused,
    ObjectExists,
    ObjectMissing,
    PreconditionFailed,
    RangeUnsatisfiable,
    TimedOut,
    TooLarge,
    Unreachable,
    UploadMissing,
    UpstreamError,
)
from tornado_proxy.web.answer import ErrorAnswer, answer_exception
from tornado_proxy.web.handlers import CrossOrigin
from tornado_proxy.web.incoming_file import FormTooLarge, MalformedForm, NotAForm
from tornado_proxy.wire.incoming import ClientDisconnected, HeadTooLarge, MalformedMessage
from tornado_proxy.wire.stream import BodyTimeout

RETRY_AFTER = (("Retry-After", "2"),)

TABLE = [
    (BadAddress("secret"), 400, ()),
    (MalformedMessage("secret"), 400, ()),
    (MalformedForm("secret"), 400, ()),
    (CrossOrigin("secret"), 403, ()),
    (BodyTimeout("secret"), 408, ()),
    (FormTooLarge("secret"), 413, ()),
    (NotAForm("secret"), 415, ()),
    (HeadTooLarge("secret"), 431, ()),
    (ClientDisconnected("secret"), 499, ()),
    (ObjectMissing("secret"), 404, ()),
    (BucketMissing("secret"), 502, ()),
    (AccessDenied("secret"), 403, ()),
    (CredentialsRefused("secret"), 502, ()),
    (PreconditionFailed("secret"), 412, ()),
    (RangeUnsatisfiable("secret", 12), 416, (("Content-Range", "bytes */12"),)),
    (RangeUnsatisfiable("secret", 0), 416, (("Content-Range", "bytes */0"),)),
    (RangeUnsatisfiable("secret"), 416, ()),
    (ObjectExists("secret"), 409, ()),
    (TooLarge("secret"), 413, ()),
    (Busy("secret"), 503, RETRY_AFTER),
    (TimedOut("secret"), 504, ()),
    (Unreachable("secret"), 502, ()),
    (UpstreamError("secret"), 502, ()),
    (ConditionIgnored("secret"), 502, ()),
    (UploadMissing("secret"), 404, ()),
    (AuthBusy("secret"), 503, RETRY_AFTER),
    (PageFailed("secret"), 500, ()),
    (ZeroDivisionError("secret"), 500, ()),
]


@pytest.mark.parametrize(("error", "status", "headers"), TABLE)
def test_each_error_has_a_status_and_headers(error, status, headers):
    refused = answer_exception(error)
    assert (refused.status, refused.headers) == (status, headers)


def _errors(root):
    return [root, *(error for child in root.__subclasses__() for error in _errors(child))]


def test_every_error_that_is_raised_has_a_status():
    """Each class below the base has a status, its own or that of its parent; the base of rewrites' errors has none."""
    without = {error.__name__ for error in _errors(StatusError) if not hasattr(error, "status")}
    assert without == {"StatusError", "RewriteError"}


def test_only_an_exception_without_an_answer_is_a_defect():
    assert [answer_exception(error).is_defect for error, *_ in TABLE] == [False] * (len(TABLE) - 1) + [True]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Busy("SlowDown"), "Busy: SlowDown"),
        (Busy(), "Busy"),
        (BadAddress("the path is bad"), "the path is bad"),
        (KeyError("x"), "`KeyError` was raised"),
    ],
)
def test_the_reason_names_the_error(error, reason):
    assert answer_exception(error).reason == reason


def test_an_unknown_status_has_a_general_message():
    assert ErrorAnswer(418, "teapot").message == "The request could not be answered"


@pytest.mark.parametrize("error", [MalformedForm("x"), NotAForm("x")])
def test_an_invalid_form_is_answered_with_instructions(error):
    """The message explains how a file is uploaded."""
    assert "field “file”" in answer_exception(error).message


def test_a_lack_of_descriptors_is_a_503():
    refused = answer_exception(OSError(errno.EMFILE, "Too many open files"))
    assert (refused.status, refused.reason, refused.is_defect) == (503, "Too many open files", False)
    assert ("Retry-After", "2") in refused.headers
