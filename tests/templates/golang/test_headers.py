import pytest
from go_programs import budget

from tornado_proxy.templates.golang.headers import HEADER, VALUES, canonical, collected, header
from tornado_proxy.templates.golang.values import type_name


@pytest.mark.parametrize(
    ("name", "canonical_name"),
    [(b"accept-encoding", b"Accept-Encoding"), (b"X-TENANT", b"X-Tenant"), (b"a b", b"a b"), (b"", b"")],
)
def test_names_of_fields_have_one_form(name, canonical_name):
    """Unless they cannot be names."""
    assert canonical(name) == canonical_name


def test_a_header_collects_repeated_fields():
    """In order; the host is no field of it."""
    fields = header([("x-tenant", "a"), ("Host", "h"), ("X-Tenant", "b")])
    assert (fields, type_name(fields)) == ({b"X-Tenant": [b"a", b"b"]}, "http.Header")
    assert type_name(fields[b"X-Tenant"]) == "[]string"


def test_a_header_is_read_in_any_case():
    """The first value, or all; a missing one is empty."""
    fields = header([("X-Tenant", "a"), ("X-Tenant", "b")])
    get, values = HEADER.methods[b"Get"].call, HEADER.methods[b"Values"].call
    assert (get(fields, b"x-tenant"), get(fields, b"other")) == (b"a", b"")
    assert (values(fields, b"X-TENANT"), values(fields, b"other").nil) == ([b"a", b"b"], True)


def test_query_values_are_read_as_they_are_called():
    """Names there have case."""
    query = collected(VALUES, [(b"x", b"1"), (b"y z", b"&"), (b"x", b"2")])
    get, has, encode = (VALUES.methods[name].call for name in (b"Get", b"Has", b"Encode"))
    assert (get(query, b"x"), get(query, b"X"), has(query, b"x"), has(query, b"X")) == (b"1", b"", True, False)
    assert encode(budget(), query) == b"x=1&x=2&y+z=%26"
