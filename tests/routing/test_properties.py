from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tornado_proxy.config.actions import PutAction, SystemMetadata
from tornado_proxy.routing.errors import LengthRequired, MetadataTooLarge, PropertyFailed
from tornado_proxy.routing.properties import Properties, PropertyTemplates, PutData, PutInput
from tornado_proxy.templates.template import HeaderFields, User

INPUT = PutInput("docs/", "a.txt", "text/plain", 5, HeaderFields((("X-Team", "red"), ("x-team", "blue"))))
DATA = PutData(User("ann"), INPUT, "files/docs/a.txt")


def _rendered(data=DATA, **options) -> Properties:
    return PropertyTemplates(PutAction(**options)).render(data)


def test_without_options_nothing_is_set():
    """An upload has no property that nobody asked for."""
    assert _rendered() == Properties()


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
    ],
)
def test_metadata_is_made_by_templates(template, value):
    """A template reads the data of s3-proxy's uploads; line ends are taken out."""
    assert _rendered(metadata=(("Meta", template),)).metadata == {"meta": value}


def test_empty_values_are_left_out():
    """A template that writes nothing sets nothing."""
    empty = '{{ if eq .Key "x" }}y{{ end }}'
    made = _rendered(metadata=(("a", empty),), storage_class=empty, system_metadata=SystemMetadata(cache_control=empty))
    assert made == Properties()


def test_headers_and_storage_class_are_templates():
    """Each option of `systemMetadata` sets the property of its name."""
    system = SystemMetadata(
        "no-cache", 'attachment; filename="{{ .Input.Filename }}"', "br", "de", "2065-10-21T07:28:00Z"
    )
    made = _rendered(system_metadata=system, storage_class="STANDARD_IA", canned_acl="private")
    moment = datetime(2065, 10, 21, 7, 28, tzinfo=UTC)
    disposition = 'attachment; filename="a.txt"'
    assert made == Properties({}, "no-cache", disposition, "br", "de", moment, "STANDARD_IA", "private")


def test_an_offset_of_a_moment_is_kept():
    """RFC 3339 has offsets."""
    made = _rendered(system_metadata=SystemMetadata(expires="2065-10-21T07:28:00+02:00"))
    assert made.expires is not None
    assert made.expires.utcoffset() == timedelta(hours=2)


@pytest.mark.parametrize("text", ["tomorrow", "2065-10-21T07:28:00", "{{ .Key }}"])
def test_what_is_no_moment_fails(text):
    """A moment without a zone is none of RFC 3339."""
    with pytest.raises(PropertyFailed, match="which is not a moment of RFC 3339"):
        _rendered(system_metadata=SystemMetadata(expires=text))


def test_a_template_that_fails_is_named():
    """Nobody is signed in."""
    with pytest.raises(PropertyFailed, match="the template of `owner` failed"):
        _rendered(PutData(None, INPUT, "a"), metadata=(("owner", "{{ .User.GetUsername }}"),))


def test_a_control_character_is_refused():
    """No header can carry one."""
    with pytest.raises(PropertyFailed, match="makes a control character"):
        _rendered(metadata=(("a", '{{ "\\t" }}'),))


def test_metadata_that_is_not_ascii_is_encoded():
    """Names of files are; S3 itself gives encoded words of RFC 2047 for such values."""
    assert _rendered(metadata=(("a", "größe"),)).metadata == {"a": "=?utf-8?b?Z3LDtsOfZQ==?="}


def test_metadata_has_a_limit():
    """S3 takes 2 KiB of names and values together."""
    with pytest.raises(MetadataTooLarge):
        _rendered(metadata=(("a", "x" * 2048),))
    assert _rendered(metadata=(("a", "x" * 2047),)).metadata


def test_a_size_that_is_read_must_be_known():
    """An upload that does not announce its size has none before its content."""
    reading = PropertyTemplates(PutAction(storage_class="{{ if gt .Input.ContentSize 9 }}GLACIER{{ end }}"))
    reading.check_size(5)
    PropertyTemplates(PutAction()).check_size(None)
    with pytest.raises(LengthRequired):
        reading.check_size(None)
