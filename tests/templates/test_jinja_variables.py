import pytest
from jinja_texts import rendered

from gotemplate.template.errors import RenderError
from tornado_proxy.templates.template import MissingUserError


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ groups[key] }}", "missing group `/a/b`"),
        ("{{ groups['9' ~ '9'] }}", "missing group `99`"),
        ("{{ groups['0' ~ '1'] }}", "missing group `01`"),
        ("{{ request.headers.keys }}", "missing header `keys`"),
        ("{{ request.query['Q'] }}", "missing query parameter `Q`"),
        ("{{ user['pass' ~ 'word'] }}", "`user` has no field `password`"),
        ("{{ user['_data'] }}", "`user` has no field `_data`"),
    ],
)
def test_a_missing_name_is_an_error(text, message):
    """A missing group, header, parameter or field is not an empty text, because the key would have a gap."""
    with pytest.raises(RenderError) as caught:
        rendered(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ user.username }}{{ user.name }}{{ user.email }}{{ user.kind }}", "annAnn A.a@bBASIC"),
        ("{{ user.groups|join('+') }}{{ user.given_name }}{{ user.email_verified }}", "g1+g2False"),
        ("{{ request.method }} {{ request.host }} {{ request.path }}", "PUT example.org /m/a/b"),
        ("{{ request.scheme }} {{ request.remote_address }}", "https 192.0.2.1"),
        ("{{ request.query.q }}{{ request.query['q'] }}[{{ request.query.empty }}]", "11[]"),
        ("{{ request.headers['x-TENANT'] }} {{ request.headers.host }}", "acme example.org"),
        ("{{ target.name }} {{ target.bucket.name }} {{ target.bucket.prefix }}", "site bucket-1 pre/"),
        ("{{ target.bucket.region }} {{ target.mount.host }} {{ target.mount.path[0] }}", "eu-west-1 example.org /m"),
        ("{{ key }}", "/a/b"),
        ("{{ groups.rest }}{{ groups['rest'] }}{{ groups['1'] }}{{ groups[1] }}{{ groups.1 }}", "bbbbb"),
        ("{{ groups[0] }}{{ groups['0'] }}[{{ groups.none }}]", "/a/b/a/b[]"),
        ("{{ 'q' in request.query }}{{ 'z' in request.query }}{{ 1 in request.query }}", "TrueFalseFalse"),
        (
            "{{ 'HOST' in request.headers }}{{ 'rest' in groups }}{{ '3' in groups }}{{ '4' in groups }}",
            "TrueTrueTrueFalse",
        ),
        ("{{ request.query|length }}{{ request.query|list|join(',') }}", "2q,empty"),
        ("{% for name in groups %}{{ name }} {% endfor %}", "rest none items"),
        ("{{ request.headers|list|join(',') }}", "x-tenant,host"),
        ("{{ request.headers['X-None']|default('d') }}", "d"),
        ("{{ request.query.none is defined and 1 or 'd' }}", "d"),
    ],
)
def test_templates_read_the_documented_variables(text, result):
    """They have the names of the documentation; the names of a lookup have the order of the request, each once."""
    assert rendered(text) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{% if user %}{{ user.username }}{% else %}public{% endif %}", "public"),
        ("{{ user is none }}{{ user == none }}{{ none == user }}{{ user is defined }}", "TrueTrueTrueTrue"),
        ("{{ user != none }}{{ user == 'ann' }}", "FalseFalse"),
        ("{{ 'in' if user else 'out' }}{{ not user }}", "outTrue"),
        ("{{ user|default('anon', true) }}", "anon"),
    ],
)
def test_a_missing_user_is_none_and_false(text, result):
    assert rendered(text, user=None) == result


@pytest.mark.parametrize(
    "text",
    [
        "/{{ user.username }}",
        "/{{ user['username'] }}",
        "{% set u = user %}/{{ u.username }}",
        "{{ user.username|default('x') }}",
        "{% if key %}{{ user.username }}{% endif %}",
    ],
)
def test_reading_from_a_missing_user_fails(text):
    """A read of a missing user fails even if the template has a default."""
    with pytest.raises(MissingUserError, match=r"the template reads `user.username`, but nobody is signed in"):
        rendered(text, user=None)
