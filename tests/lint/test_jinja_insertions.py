import pytest

from tornado_proxy.lint.jinja_insertions import insertions
from tornado_proxy.lint.shapes import ALL_GROUPS, EMAIL, GROUPS, HEADER, NAME, QUERY


def _found(template):
    return [(what, template[start:end]) for what, start, end in insertions(template)]


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("/{{ request.headers.team }}", [(HEADER, "request.headers.team")]),
        ('/{{ request.headers["X-Team"] }}/x', [(HEADER, 'request.headers["X-Team"]')]),
        ("/{{ request.query.page }}", [(QUERY, "request.query.page")]),
        ("/{{ request['query']['page'] }}", [(QUERY, "request['query']['page']")]),
        ("/{{ user.email }}{{ user.name }}", [(EMAIL, "user.email"), (NAME, "user.name")]),
        ("/{{ user.groups[0] }}", [(GROUPS, "user.groups[0]")]),
        ("/{{ user.groups }}{{ user['groups'] }}", [(ALL_GROUPS, "user.groups"), (ALL_GROUPS, "user['groups']")]),
        ("/{{ user.groups | join('-') }}", [(GROUPS, "user.groups")]),
        ("/{{ user.email | lower }}", [(EMAIL, "user.email")]),
        ("/{{ 'a' ~ user.email ~ 'b' }}", [(EMAIL, "user.email")]),
        ("/{{ user.email.upper() }}", [(EMAIL, "user.email")]),
        ("/{{ user.email or 'nobody' }}", [(EMAIL, "user.email")]),
        ("/{{ user.email if user else 'guest' }}", [(EMAIL, "user.email")]),
        ("/{{ 'guest' if not user else user.email }}", [(EMAIL, "user.email")]),
        ("{% set team = request.headers.team %}/{{ team }}", [(HEADER, "team")]),
        ("{% set a = user.email %}{% set b = a %}/{{ b }}", [(EMAIL, "b")]),
        ("{% with a = user.email %}/{{ a }}{% endwith %}", [(EMAIL, "a")]),
        ("{% for group in user.groups %}/{{ group }}{% endfor %}", [(GROUPS, "group")]),
        ("/{{ user.email | replace('/', '/') }}", [(EMAIL, "user.email")]),
        ("/{{ user.email | replace('/', '', 1) }}", [(EMAIL, "user.email")]),
        ("/{{ user.email | replace('@', '') }}", [(EMAIL, "user.email")]),
        ("/{{ user.email.replace('/', key) }}", [(EMAIL, "user.email")]),
        ("/{{ user.email.split('@')[0] }}", [(EMAIL, "user.email")]),
        ("/{{ user.email.split('/', 1)[1] }}", [(EMAIL, "user.email")]),
        ("/{{ user.email.partition('/')[key] }}", [(EMAIL, "user.email")]),
        ("/{{ user.email.split('/') | join('/') }}", [(EMAIL, "user.email")]),
        ("/{{ {'a': user.email}.get('a', user.name) }}", [(EMAIL, "user.email"), (NAME, "user.name")]),
        ("/{{ request.headers.get }}", [(HEADER, "request.headers.get")]),
        ("{% if '/' in user.email %}/{{ user.email }}{% endif %}", [(EMAIL, "user.email")]),
        ("{% if user.email != 'a' %}/{{ user.email }}{% endif %}", [(EMAIL, "user.email")]),
        ("{% if user or user.email == 'a' %}/{{ user.email }}{% endif %}", [(EMAIL, "user.email")]),
        ("{% if not user.email.isalnum() %}/{{ user.email }}{% endif %}", [(EMAIL, "user.email")]),
        ("{% if user %}/{{ user.email }}{% else %}/{{ user.name }}{% endif %}", [(EMAIL, "user.email"), (NAME, "user.name")]),
    ],
)  # fmt: skip
def test_what_becomes_part_of_the_key(template, found):
    """A value that a client chooses is found where it is printed, under whatever name, with its place."""
    assert _found(template) == found


@pytest.mark.parametrize(
    "template",
    [
        "/{{ user.username }}/{{ groups.rest }}/{{ key }}/{{ request.host }}",
        "/{% if 'de' in user.groups %}de{% endif %}",
        "/{{ 'x' if request.headers.team == 'blue' else 'y' }}",
        "/{{ user.groups | length }}",
        '/{{ request.headers.team | replace("/", "") }}',
        '/{{ request.headers.team.replace("/", "-") }}',
        "/{{ user.email is defined }}/{{ not user.email }}",
        "{% if request.headers.team in ('blue', 'red') %}/{{ request.headers.team }}{% endif %}",
        "{% if user and request.headers['X-T'] == 'a' %}/{{ request.headers['x-t'] }}{% endif %}",
        "/{{ request.headers.team if request.headers.team == 'blue' else 'none' }}",
        "{% if request.query.page.isdigit() %}/{{ request.query.page }}{% endif %}",
        "/{{ 'x' if user.email == 'a' }}",
        "{% set team = request.headers.team %}{% if team in ['a'] %}/{{ team }}{% endif %}",
        "{% set ns = namespace(a=1) %}/{{ ns.a }}",
        '/{{ request.headers["X"].split("/")[0] }}',
        "/{{ user.email.split('/') | last }}/{{ user.email.rsplit('/', 1)[-1] }}/{{ user.email.partition('/') | first }}",
        '{% if "/" not in user.email %}/{{ user.email }}{% endif %}',
        '{% if "/" in user.email %}/x{% elif user %}/{{ user.email }}{% else %}/{{ user.email }}{% endif %}',
        "{% if not ('/' in user.email or user.name != 'a') %}/{{ user.email }}{{ user.name }}{% endif %}",
        "{% if user.email not in ['a'] %}/x{% else %}/{{ user.email }}{% endif %}",
        "/{{ 'none' if '/' in user.email else user.email }}",
        '/{{ {"a": "b"}.get(request.headers.x, "c") }}',
        "{% set names = {'a': 'b'} %}/{{ names[user.email] }}{{ names.get(user.email) }}",
        "/plain",
    ],
)
def test_what_is_only_asked_about_or_harmless(template):
    """What spans one segment, is compared with what is allowed, or loses its slashes is not an insertion."""
    assert _found(template) == []


def test_comparing_one_value_settles_no_other():
    """Only the value that was compared is known, and only where the comparison holds."""
    template = "{% if user.email == 'a' %}/{{ user.name }}{% else %}/{{ user.email }}{% endif %}"
    assert [what for what, _ in _found(template)] == [NAME, EMAIL]
