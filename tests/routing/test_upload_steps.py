"""Tests of uploads in parts, and of templates that make the properties of an uploaded object."""

from datetime import UTC, datetime, timedelta

import pytest

from tornado_proxy.config.actions import Actions, DeleteAction, PutAction, SystemMetadata
from tornado_proxy.config.model import Bucket
from tornado_proxy.routing.request import LengthRequired, PropertyFailed, RequestError
from tornado_proxy.routing.upload_steps import (
    AbortUpload,
    BeginUpload,
    CompleteUpload,
    ListParts,
    Properties,
    PropertyTemplates,
    ReceivePart,
)
from tornado_proxy.semantics.request import User
from tornado_proxy.templates.template import HeaderFields, PutData, PutInput

PUT = Actions(put=PutAction(enabled=True, max_size=10))
FOLDER = Bucket("bucket", prefix="folder1/")


@pytest.fixture(scope="session")
def plan_step(decide_request, make_site):
    """Plans a PUT of a file with a query."""
    site = make_site((r"^/in/(.+)$", "/archive/$1"), mount="/m/", bucket=FOLDER, actions=PUT)
    return lambda query, path="/m/in/a b.txt": decide_request(site, f"PUT {path.replace(' ', '%20')}?{query}").plan


KEY, LOCATION = "folder1/archive/a b.txt", "/m/in/a%20b.txt"


@pytest.mark.parametrize(
    ("query", "step"),
    [
        ("upload=start&size=10", BeginUpload(KEY, LOCATION, 10, replace=False, max_size=10)),
        ("upload=part&id=x%2By&number=10000", ReceivePart(KEY, "x+y", 10_000, max_total=10)),
        ("upload=parts&id=x", ListParts(KEY, "x")),
        ("upload=complete&id=x&size=0", CompleteUpload(KEY, LOCATION, "x", 0, replace=False, max_size=10)),
        ("upload=abort&id=" + "x" * 1024, AbortUpload(KEY, "x" * 1024)),
    ],
)
def test_each_step_has_the_rewritten_key(plan_step, query, step):
    assert plan_step(query) == (step,)


MIB = 1024**2


@pytest.mark.parametrize(
    ("number", "max_total", "max_size", "may_exceed"),
    [
        (10_000, None, 64 * MIB, False),
        (1, 10, 10, True),
        (2, 128 * MIB, 64 * MIB, False),
        (3, 128 * MIB, 64 * MIB, True),
        (2, 128 * MIB - 1, 64 * MIB, True),
    ],
)
def test_a_part_has_the_limit_of_its_file(number, max_total, max_size, may_exceed):
    """A part is no larger than the file may be; whether it needs a look at the others depends on its number."""
    part = ReceivePart(KEY, "x", number, max_total)
    assert (part.max_size, part.may_exceed) == (max_size, may_exceed)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("upload=start", "the query has no valid `size`"),
        ("upload=start&size=0", "an empty file has no parts"),
        ("upload=part&id=x&number=1&number=2", "the query names a parameter twice"),
        ("upload=start&size=-1", "the query has no valid `size`"),
        ("upload=start&size=1e9", "the query has no valid `size`"),
        ("upload=start&size=%D9%A1", "the query has no valid `size`"),
        ("upload=start&size=" + "9" * 20, "the query has no valid `size`"),
        ("upload=part&id=x", "the query has no valid `number`"),
        ("upload=part&id=x&number=0", "the number of a part is not one of 1 to 10000"),
        ("upload=part&id=x&number=10001", "the number of a part is not one of 1 to 10000"),
        ("upload=part&number=1", "the query has no valid `id` of an upload"),
        ("upload=parts&id=", "the query has no valid `id` of an upload"),
        ("upload=abort&id=a/..", "the query has no valid `id` of an upload"),
        ("upload=abort&id=%0A", "the query has no valid `id` of an upload"),
        ("upload=complete&size=1&id=" + "x" * 1025, "the query has no valid `id` of an upload"),
        ("upload=complete&id=x", "the query has no valid `size`"),
    ],
)
def test_a_step_with_an_invalid_query_is_refused(plan_step, query, reason):
    (refused,) = plan_step(query)
    assert (refused.status, refused.reason) == (400, reason)
    assert refused.message == f"The query of an upload in parts is not valid: {reason}"


@pytest.mark.parametrize("path", ["/m/in/", "/m"])
def test_a_directory_is_not_uploaded_in_parts(plan_step, path):
    (refused,) = plan_step("upload=start&size=1", path)
    assert (refused.status, refused.reason) == (400, "`?upload=` needs the path of a file")


@pytest.mark.parametrize("value", ["other", "", "START", "other&upload=start&size=1"])
def test_an_unknown_step_is_refused(decide_request, make_site, value):
    """A part with a misspelt step is not stored as the file."""
    raw = make_site(actions=Actions(put=PutAction(enabled=True, raw_uploads=True)))
    (refused,) = decide_request(raw, f"PUT /a?upload={value}").plan
    expected = (400, "`upload` is not one of start, part, parts, complete, abort and direct")
    assert (refused.status, refused.reason) == expected


def test_a_delete_with_a_step_is_refused(decide_request, make_site):
    site = make_site(actions=Actions(delete=DeleteAction(enabled=True)))
    (refused,) = decide_request(site, "DELETE /a?upload=abort&id=x").plan
    assert (refused.status, refused.reason) == (400, "a step of an upload in parts is a PUT")


INPUT = PutInput("docs/", "a.txt", "text/plain", 5, HeaderFields((("X-Team", "red"), ("x-team", "blue"))))
DATA = PutData(User("ann"), INPUT, "files/docs/a.txt")


def _render(data=DATA, **options) -> Properties:
    return PropertyTemplates(PutAction(**options)).render(data)


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("fixed", "fixed"),
        ("{{ .Key }} - {{ .Input.ContentType }}", "files/docs/a.txt - text/plain"),
        ("{{ .Input.RequestPath }}{{ .Input.Filename }}", "docs/a.txt"),
        ("{{ .Input.ContentSize }}", "5"),
        ("{{ .User.GetUsername }}", "ann"),
        ('{{ .Input.RequestHeaders.Get "x-team" }}', "red"),
        ('{{ index .Input.RequestHeaders "X-Team" 1 }}', "blue"),
        ("\n{{ .Key }}\r\n", "files/docs/a.txt"),
        ("\u2028{{ .Key }}\u2029\x85", "files/docs/a.txt"),
        ("größe", "=?utf-8?b?Z3LDtsOfZQ==?="),  # an encoded word (RFC 2047), as S3 returns it
    ],
)
def test_metadata_is_rendered(template, value):
    """A template reads the same data as in s3-proxy; line ends are removed from its result."""
    assert _render(metadata=(("Meta", template),)).metadata == {"meta": value}


def test_empty_results_set_no_properties():
    empty = '{{ if eq .Key "x" }}y{{ end }}'
    properties = _render(
        metadata=(("a", empty),), storage_class=empty, system_metadata=SystemMetadata(cache_control=empty)
    )
    assert properties == Properties()


def test_headers_and_storage_class_are_templates():
    """Each option of `systemMetadata` sets the property of its name."""
    system = SystemMetadata(
        "no-cache", 'attachment; filename="{{ .Input.Filename }}"', "br", "de", "2065-10-21T07:28:00Z"
    )
    properties = _render(system_metadata=system, storage_class="STANDARD_IA", canned_acl="private")
    moment = datetime(2065, 10, 21, 7, 28, tzinfo=UTC)
    disposition = 'attachment; filename="a.txt"'
    assert properties == Properties({}, "no-cache", disposition, "br", "de", moment, "STANDARD_IA", "private")


def test_the_offset_of_a_time_is_kept():
    properties = _render(system_metadata=SystemMetadata(expires="2065-10-21T07:28:00+02:00"))
    assert properties.expires.utcoffset() == timedelta(hours=2)


@pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u3000"])
def test_each_white_space_of_a_header_is_a_space(space):
    """No header has a white space beyond ASCII, which boto3 would sign as a space and send as it is."""
    system = SystemMetadata(content_disposition=f'attachment; filename="9.41{space}PM  größe.png"')
    properties = _render(system_metadata=system, storage_class=f"A{space}B")
    saved = "attachment; filename=\"9.41 PM  gro_e.png\"; filename*=UTF-8''9.41%20PM%20%20gr%C3%B6%C3%9Fe.png"
    assert properties.content_disposition == saved
    assert properties.storage_class == "A B"


@pytest.mark.parametrize(
    "text", ["tomorrow", "2065-10-21T07:28:00", "{{ .Key }}", "9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00"]
)
def test_an_invalid_time_fails(text):
    with pytest.raises(PropertyFailed, match="which is not a time in the format of RFC 3339"):
        _render(system_metadata=SystemMetadata(expires=text))


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"metadata": (("own_er", "{{ .User.GetUsername }}"),)}, "own_er"),
        ({"storage_class": "{{ .User.GetUsername }}"}, "storageClass"),
        ({"system_metadata": SystemMetadata(cache_control="{{ .User.GetUsername }}")}, "cacheControl"),
    ],
)
def test_a_failing_template_is_named(options, name):
    """It has the name that the configuration gives it."""
    with pytest.raises(PropertyFailed, match=f"the template of `{name}` failed"):
        _render(PutData(None, INPUT, "a"), **options)


@pytest.mark.parametrize("character", [r"\t", r"\x00", r"\x7f"])
def test_a_control_character_is_refused(character):
    """A control character in a result is the client's mistake, who has sent it."""
    with pytest.raises(RequestError, match="makes a control character") as raised:
        _render(metadata=(("a", f'{{{{ "{character}" }}}}'),))
    assert raised.value.status == 400


def test_the_size_of_metadata_is_limited():
    with pytest.raises(RequestError):
        _render(metadata=(("a", "x" * 2048),))
    assert _render(metadata=(("a", "x" * 2047),)).metadata


@pytest.mark.parametrize(
    "options",
    [
        {"storage_class": "{{ if gt .Input.ContentSize 9 }}GLACIER{{ end }}"},
        {"metadata": (("size", "{{ .Input.ContentSize }}"),)},
    ],
)
def test_a_template_that_reads_the_size_needs_it(options):
    templates = PropertyTemplates(PutAction(**options))
    templates.check_size(5)
    PropertyTemplates(PutAction()).check_size(None)
    with pytest.raises(LengthRequired):
        templates.check_size(None)


@pytest.mark.parametrize("name", ["cache_control", "content_language"])
def test_a_header_of_other_characters_is_refused(name):
    """Only the name in a Content-Disposition has a form for them."""
    with pytest.raises(RequestError, match="not ASCII"):
        _render(system_metadata=SystemMetadata(**{name: "größe"}))
