"""Answers are values: pages, and objects with the headers that their store knows."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tornado_proxy.config.actions import Actions, GetAction, PutAction
from tornado_proxy.gateway.answer import Whole, file_headers, is_active, page, unchanged_headers
from tornado_proxy.pages.render import Rendering
from tornado_proxy.semantics.conditions import ContentRange
from tornado_proxy.semantics.fields import Checksum
from tornado_proxy.storage.store import ObjectInfo

SHA256 = Checksum("SHA256", "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=", "FULL_OBJECT")
EVERYTHING = ObjectInfo(
    size=5,
    etag='"e"',
    last_modified=datetime(2026, 5, 1, 12, 34, 56, tzinfo=UTC),
    content_type="text/plain",
    content_disposition='attachment; filename="a.txt"',
    content_encoding="gzip",
    content_language="en",
    cache_control="max-age=60",
    expires="Fri, 01 May 2026 13:00:00 GMT",
    checksums=(SHA256,),
)
DIGEST = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"


def test_a_page_is_a_whole_answer():
    """A rendering's headers come first, then those of the answer, then the length of its bytes."""
    rendering = Rendering("ä".encode(), (("Vary", "Accept"),))
    assert page(404, rendering, (("Allow", ""),)) == Whole(
        404, (("Vary", "Accept"), ("Allow", ""), ("Content-Length", "2")), "ä".encode()
    )


def test_a_whole_file_has_every_header_that_is_known():
    """All that the object says is passed on, with the length, the digest and the promise of ranges."""
    assert dict(file_headers(EVERYTHING, Actions())) == {
        "Content-Type": "text/plain",
        "Content-Length": "5",
        "Content-Encoding": "gzip",
        "Content-Language": "en",
        "Content-Disposition": 'attachment; filename="a.txt"',
        "Content-Digest": DIGEST,
        "Accept-Ranges": "bytes",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "max-age=60",
        "Expires": "Fri, 01 May 2026 13:00:00 GMT",
        "ETag": '"e"',
        "Last-Modified": "Fri, 01 May 2026 12:34:56 GMT",
    }


def test_a_bare_object_has_a_type_and_a_length():
    """What is not known is left out, an empty file has its length, and no type is guessed."""
    assert dict(file_headers(ObjectInfo(size=0), Actions())) == {
        "Content-Type": "application/octet-stream",
        "Content-Length": "0",
        "Accept-Ranges": "bytes",
        "X-Content-Type-Options": "nosniff",
    }


def test_a_part_says_which_and_has_no_content_digest():
    """A part has its own length and range; the digest is of the representation, not of the content."""
    headers = dict(file_headers(EVERYTHING, Actions(), ContentRange(1, 3, 5)))
    assert (headers["Content-Length"], headers["Content-Range"]) == ("3", "bytes 1-3/5")
    assert "Content-Digest" not in headers
    assert headers["Repr-Digest"] == DIGEST


def test_a_file_from_the_cache_says_so_and_its_age():
    """What the cache knew of a file, and the seconds since S3 was asked, unless it was right now."""
    kept, new = ObjectInfo(1, etag='"a"', cache="hit", age=7), ObjectInfo(1, etag='"a"', cache="miss")
    assert unchanged_headers(kept) == (("ETag", '"a"'), ("X-Cache", "hit"), ("Age", "7"))
    assert dict(file_headers(kept, Actions())).items() >= {("X-Cache", "hit"), ("Age", "7")}
    assert unchanged_headers(new) == (("ETag", '"a"'), ("X-Cache", "miss"))


def test_an_unchanged_file_has_what_keeps_a_copy_fresh():
    """A 304 carries validators and lifetimes, nothing of the content."""
    assert [name for name, _ in unchanged_headers(EVERYTHING)] == ["Cache-Control", "Expires", "ETag", "Last-Modified"]
    assert unchanged_headers(None) == ()


@pytest.mark.parametrize(
    ("disposition", "sent"),
    [
        ("a\r\nSet-Cookie: x", None),
        ("a\x00", None),
        ("größe", "größe".encode().decode("latin-1")),
        ("日本", "日本".encode().decode("latin-1")),
        ("a\tb", "a\tb"),
    ],
)
def test_no_stored_text_breaks_the_head(disposition, sent):
    """A value with control characters is left out, one beyond ASCII is sent as UTF-8."""
    headers = dict(file_headers(ObjectInfo(size=0, content_disposition=disposition), Actions()))
    assert headers.get("Content-Disposition") == sent


@pytest.mark.parametrize(
    ("content_type", "active"),
    [
        ("text/html", True),
        ("Text/HTML ; charset=utf-8", True),
        ("image/svg+xml", True),
        ("application/xhtml+xml", True),
        ("application/xml", True),
        ("text/html,text/plain", True),
        ("html", True),
        ("text/plain", False),
        ("image/png", False),
        ("application/json", False),
        ("text/javascript", False),
    ],
)
def test_types_that_run_scripts_are_known(content_type, active):
    """HTML and everything that is XML; a type that is ill-formed may be taken for HTML."""
    assert is_active(content_type) == active


@pytest.mark.parametrize(
    ("choice", "uploads", "own", "sent"),
    [
        ("auto", False, None, None),
        ("auto", True, None, "attachment"),
        ("auto", True, "inline", "attachment"),
        ("auto", True, 'Attachment; filename="a.html"', 'Attachment; filename="a.html"'),
        ("inline", True, None, None),
        ("attachment", False, None, "attachment"),
    ],
)
def test_what_may_have_been_uploaded_is_saved(choice, uploads, own, sent):
    """Where uploads are enabled HTML is an attachment, unless the configuration trusts those who upload."""
    actions = Actions(get=GetAction(active_content=choice), put=PutAction(enabled=uploads))
    info = ObjectInfo(1, content_type="text/html", content_disposition=own)
    assert dict(file_headers(info, actions)).get("Content-Disposition") == sent


def test_files_have_the_policy_of_their_target():
    """A Content-Security-Policy is added where one is configured, and no type is guessed anywhere."""
    plain, strict = Actions(), Actions(get=GetAction(content_security_policy="sandbox"))
    headers = [dict(file_headers(ObjectInfo(1), actions)) for actions in (plain, strict)]
    assert [each.get("Content-Security-Policy") for each in headers] == [None, "sandbox"]
    assert [each["X-Content-Type-Options"] for each in headers] == ["nosniff", "nosniff"]
