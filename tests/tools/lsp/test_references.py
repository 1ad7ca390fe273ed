"""What the text of a template names."""

from __future__ import annotations

import pytest
from editing import CURSOR
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.lang.tree import Dialect
from tornado_proxy.tools.lsp.references import GroupReference, VariableReference, reference_at


@pytest.mark.parametrize(
    ("dialect", "text", "named"),
    [
        (Dialect.PLAIN, "/a/$pa‸ge/b", GroupReference("page", 3, 8)),
        (Dialect.PLAIN, "/a/${1‸}b", GroupReference("1", 3, 7)),
        (Dialect.PLAIN, "/a/$$pa‸ge", None),
        (Dialect.JINJA, "/{{ groups.pa‸ge }}", GroupReference("page", 4, 15)),
        (Dialect.JINJA, "/{{ groups['pa‸ge'] }}", GroupReference("page", 4, 18)),
        (Dialect.JINJA, "/{{ us‸er.username }}", VariableReference("user", 4, 8)),
        (Dialect.JINJA, "/{{ user.user‸name }}", VariableReference("user.username", 9, 17)),
        (Dialect.JINJA, "/{{ 'us‸er' }}", None),
        (Dialect.JINJA, "/us‸er/{{ key }}", None),
        (Dialect.JINJA, "{% if us‸er", VariableReference("user", 6, 10)),
        (Dialect.GO, "/{{ .Groups.pa‸ge }}", GroupReference("page", 4, 16)),
        (Dialect.GO, '/{{ index .Groups "pa‸ge" }}', GroupReference("page", 10, 24)),
        (Dialect.GO, "/{{ $.User.GetUser‸name }}", VariableReference("User.GetUsername", 11, 22)),
        (Dialect.GO, "/{{ up‸per .Key }}", None),
    ],
)
def test_what_stands_at_a_place_is_named(dialect, text, named):
    """A group or a variable with its path, and nothing in plain text or in strings."""
    assert reference_at(dialect, text.replace(CURSOR, ""), text.index(CURSOR)) == named


@given(st.sampled_from(Dialect), st.text(alphabet="{}%$. groupsGuser1[]'\"|\\", max_size=60), st.data())
def test_no_text_makes_it_fail(dialect, text, data):
    """Templates that do not compile are looked at too."""
    found = reference_at(dialect, text, data.draw(st.integers(0, len(text))))
    assert found is None or 0 <= found.start <= found.end <= len(text)
