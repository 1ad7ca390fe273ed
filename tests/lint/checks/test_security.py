import pytest
from linting import findings, marked_texts, settings

MISSING_USER = "missing-user"
UNSAFE_INSERTION = "unsafe-insertion"


HOME = "rewrite `^/home/(?P<rest>.*)$` -> jinja `/users/{{ user.username }}/{{ groups.rest }}`"


def _configuration(resources="", actions=""):
    return settings(f"""
authProviders: {{basic: {{staff: {{realm: Files}}}}}}
targets:
  site:
    mount: {{path: [/docs/]}}
    bucket: {{name: files, region: eu-west-1}}
    {f"actions: {{{actions}}}" if actions else ""}
    {f"resources: [{resources}]" if resources else ""}
""")


STAFF = "{path: %s, methods: [GET, PUT], provider: staff, basic: {credentials: [{user: ann, password: {env: ANN}}]}}"
WHITE_LIST = "{path: %s, methods: [%s], whiteList: true}"
OPEN_HOME = f"{WHITE_LIST % ('/docs/home/open/**', 'GET')}, {STAFF % '/docs/**'}"


def test_without_a_configuration_no_user_is_reported_missing():
    """Without a configuration, it is unknown whether a user must sign in."""
    assert marked_texts(MISSING_USER, HOME) == []


def test_a_user_may_be_missing_without_resources():
    """The message has a request that needs no sign-in, with its mount path."""
    (finding,) = findings(MISSING_USER, HOME, _configuration())
    expected = "this reads the user, but `GET /docs/home/` needs no sign-in: without a user it is refused with 403"
    assert finding.message == expected


def test_a_user_may_be_missing_in_an_open_part():
    """The message has a key in the open part of the target."""
    (finding,) = findings(MISSING_USER, HOME, _configuration(OPEN_HOME))
    assert "`GET /docs/home/open/" in finding.message or "`GET /docs/home/open`" in finding.message


def test_a_user_may_be_missing_with_an_open_method():
    """A request with any method that is enabled and open is reported."""
    resources = f"{WHITE_LIST % ('/docs/**', 'PUT')}, {STAFF % '/docs/**'}"
    (finding,) = findings(MISSING_USER, HOME, _configuration(resources, "PUT: {enabled: true}"))
    assert "`PUT /docs/home/" in finding.message


@pytest.mark.parametrize("source", ["/home/", "^/home/|^/mine/"])
def test_a_source_without_an_anchor_is_tried_with_examples(source):
    """For a source without a single anchor, guessed keys and the keys of tests are tried."""
    text = f'rewrite `{source}` -> jinja `/{{{{ user.username }}}}`\ntest "/home/open/a" -> error'
    (finding,) = findings(MISSING_USER, text, _configuration(OPEN_HOME))
    assert "`GET /docs/home/open/a`" in finding.message


@pytest.mark.parametrize(
    ("statements", "resources"),
    [
        (HOME, STAFF % "/docs/**"),
        (
            HOME,
            f"{WHITE_LIST % ('/docs/public/**', 'GET')}, {STAFF % '/docs/**'}",
        ),  # open where the source matches no key
        (f"}} target other {{ {HOME}", ""),  # which the configuration does not have
        ("rewrite `/home/` -> jinja `/{{ user.username }}`", OPEN_HOME),  # without an example in the open part
        ("rewrite `^/home/|^/mine/` -> jinja `/{{ user.username }}`", OPEN_HOME),
        ("rewrite `^/home/` -> jinja `/{{ user.username if user else 'guest' }}`", ""),
        ("rewrite `^/home/` -> jinja `/{% if user and 'de' in user.groups %}de{% else %}en{% endif %}`", ""),
        ("rewrite `^/home/` -> jinja `/{{ user.email if user else 1/0 }}`", ""),  # fails for another reason
        ("rewrite `^/home/(.*)$` -> `/users/$1`", ""),
    ],
)
def test_a_user_who_is_not_missing_has_no_finding(statements, resources):
    """Either nobody can ask without a user, or the template renders without one."""
    assert marked_texts(MISSING_USER, statements, _configuration(resources)) == []


@pytest.mark.parametrize(
    ("template", "inserted"),
    [
        ('go `/{{ .Request.Header.Get "X-Team" }}`', ["the header `X-Team`"]),
        ("go `/{{ .Request.UserAgent }}`", ["the header `User-Agent`"]),
        ('go `/{{ .Request.URL.Query.Get "page" }}`', ["the query value `page`"]),
        ("go `/{{ .User.GetEmail | lower }}`", ["an email address"]),
        ("go `/{{ $.User.GetName }}`", ["a name of the user"]),
        ("go `/{{ index .User.GetGroups 0 }}`", ["a group of the user"]),
        ("go `/{{ (lower .User.GetEmail) }}`", ["an email address"]),
        ("go `{{ $mail := .User.GetEmail }}/{{ $mail }}`", ["an email address"]),
        ("go `{{ with .User }}/{{ .GetEmail }}{{ end }}`", ["an email address"]),
        ("go `{{ with .User.GetEmail }}/{{ . }}{{ end }}`", ["an email address"]),
        ("go `{{ with $mail := .User.GetEmail }}/{{ $mail }}{{ end }}`", ["an email address"]),
        ("go `{{ range .User.GetGroups }}/{{ . }}{{ end }}`", ["a group of the user"]),
        ('go `{{ define "t" }}/{{ .GetEmail }}{{ end }}{{ template "t" .User }}`', ["an email address"]),
        ("go `{{ if .User }}/{{ .User.GetEmail }}{{ else }}/guest{{ end }}`", ["an email address"]),
        ('go `/{{ .User.GetEmail | replace "/" "/" }}`', ["an email address"]),
        ('go `/{{ replace "/" .Key .User.GetEmail }}`', ["an email address"]),
        ('go `/{{ .Key | replace "/" "" | printf "%s%s" .User.GetEmail }}`', ["an email address"]),
        ('go `/{{ regexReplaceAll "[^a-z]" .User.GetEmail "/" }}`', ["an email address"]),
        ('go `/{{ regexReplaceAll "([^a-z])" .User.GetEmail "$1" }}`', ["an email address"]),
        ('go `/{{ regexFind "[^@]+" .User.GetEmail }}`', ["an email address"]),
        ('go `/{{ splitList "/" .User.GetEmail | join "/" }}`', ["an email address"]),
        ('go `/{{ splitList "@" .User.GetEmail | first }}`', ["an email address"]),
        ('go `/{{ get (dict "a" .User.GetEmail) "a" }}`', ["an email address"]),
        ('go `{{ if contains "/" .User.GetEmail }}/{{ .User.GetEmail }}{{ end }}`', ["an email address"]),
        ('go `{{ if ne .User.GetEmail "a" }}/{{ .User.GetEmail }}{{ end }}`', ["an email address"]),
        ('go `{{ if regexMatch "[a-z]" .User.GetEmail }}/{{ .User.GetEmail }}{{ end }}`', ["an email address"]),
        ('go `{{ if or .User (eq .User.GetEmail "a") }}/{{ .User.GetEmail }}{{ end }}`', ["an email address"]),
        ("go `{{ if .User }}{{ else }}/{{ .Request.Referer }}{{ end }}`", ["the header `Referer`"]),
        ("jinja `/{{ request.headers.team }}`", ["the header `team`"]),
        ('jinja `/{{ request.headers["X-Team"] }}/x`', ["the header `X-Team`"]),
        ("jinja `/{{ request.query.page }}`", ["the query value `page`"]),
        ("jinja `/{{ request['query']['page'] }}`", ["the query value `page`"]),
        ("jinja `/{{ user.email }}{{ user.name }}`", ["an email address", "a name of the user"]),
        ("jinja `/{{ user.groups[0] }}`", ["a group of the user"]),
        ("jinja `/{{ user.groups | join('-') }}`", ["a group of the user"]),
        ("jinja `/{{ user.email | lower }}`", ["an email address"]),
        ("jinja `/{{ 'a' ~ user.email ~ 'b' }}`", ["an email address"]),
        ("jinja `/{{ user.email.upper() }}`", ["an email address"]),
        ("jinja `/{{ user.email or 'nobody' }}`", ["an email address"]),
        ("jinja `/{{ user.email if user else 'guest' }}`", ["an email address"]),
        ("jinja `/{{ 'guest' if not user else user.email }}`", ["an email address"]),
        ("jinja `{% set team = request.headers.team %}/{{ team }}`", ["the header `team`"]),
        ("jinja `{% set a = user.email %}{% set b = a %}/{{ b }}`", ["an email address"]),
        ("jinja `{% with a = user.email %}/{{ a }}{% endwith %}`", ["an email address"]),
        ("jinja `{% for group in user.groups %}/{{ group }}{% endfor %}`", ["a group of the user"]),
        ("jinja `/{{ user.email | replace('/', '/') }}`", ["an email address"]),
        ("jinja `/{{ user.email | replace('/', '', 1) }}`", ["an email address"]),
        ("jinja `/{{ user.email | replace('@', '') }}`", ["an email address"]),
        ("jinja `/{{ user.email.replace('/', key) }}`", ["an email address"]),
        ("jinja `/{{ user.email.split('@')[0] }}`", ["an email address"]),
        ("jinja `/{{ user.email.split('/', 1)[1] }}`", ["an email address"]),
        ("jinja `/{{ user.email.split('/') | join('/') }}`", ["an email address"]),
        ("jinja `/{{ request.headers.get }}`", ["the header `get`"]),
        ("jinja `{% if '/' in user.email %}/{{ user.email }}{% endif %}`", ["an email address"]),
        ("jinja `{% if user.email != 'a' %}/{{ user.email }}{% endif %}`", ["an email address"]),
        ("jinja `{% if user or user.email == 'a' %}/{{ user.email }}{% endif %}`", ["an email address"]),
        ("jinja `{% if not user.email.isalnum() %}/{{ user.email }}{% endif %}`", ["an email address"]),
        ('jinja `/{{ request.headers["A"] }}/{{ request.headers["B"] }}`', ["the header `A`", "the header `B`"]),
        ('jinja `{% if request.method == "PUT" %}/{{ request.headers["A"] }}{% endif %}`', ["the header `A`"]),
    ],
)
def test_a_client_s_value_in_a_key_is_reported(template, inserted):
    """A value that a client chooses is reported if a slash in it reaches the result, through variables too."""
    reported = findings(UNSAFE_INSERTION, f"rewrite `^/(?P<rest>.*)$` -> {template}")
    assert [finding.message.split(":")[0].removeprefix("this inserts ") for finding in reported] == inserted


@pytest.mark.parametrize(
    "template",
    [
        '"/$rest"',
        "go `/{{ .User.GetUsername }}/{{ .Groups.rest }}{{ .Key }}/{{ .Request.Host }}`",
        "go `/{{ if .User.GetEmail }}a{{ end }}`",
        'go `/{{ if eq (.Request.Header.Get "T") "blue" }}blue{{ end }}`',
        "go `/{{ len .User.GetGroups }}`",
        'go `/{{ .Request.Header.Get "X-Team" | replace "/" "" }}`',
        "go `/{{ .User.GetEmail | sha256sum }}`",
        "go `{{ $mail := .User.GetEmail }}/x`",
        'go `{{ $x := .User.GetEmail }}{{ $x = "a" }}/{{ $x }}`',
        'go `{{ if eq .User.GetEmail "a" }}/{{ .User.GetEmail }}{{ end }}`',
        'go `{{ if has (.User.GetEmail) (list "a" "b") }}/{{ .User.GetEmail }}{{ end }}`',
        'go `{{ template "t" }}{{ define "t" }}/{{ . }}{{ end }}`',
        'go `{{ define "a" }}{{ template "b" . }}{{ end }}{{ define "b" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`',
        'go `{{ with (printf "a") }}/{{ . }}{{ end }}{{ with printf "a" | lower }}{{ . }}{{ end }}`',
        'go `{{ range list "a" }}{{ continue }}{{ break }}{{ else }}b{{ end }}`',
        "go `/{{ .User.GetEmail | b32enc }}`",
        'go `/{{ regexReplaceAll "[^a-z]" .User.GetEmail "" }}/{{ regexReplaceAllLiteral "/+" .User.GetEmail "-" }}`',
        'go `/{{ regexFind "[a-z]+" .User.GetEmail }}`',
        'go `/{{ splitList "/" .User.GetEmail | first }}/{{ index (splitList "/" .User.GetEmail) 0 }}`',
        'go `/{{ (split "/" .User.GetEmail)._0 }}/{{ last (.User.GetEmail | splitList "/") }}`',
        'go `/{{ get (dict "a" "b") .User.GetEmail }}{{ index (dict "a" "b") .User.GetEmail }}`',
        'go `{{ if contains "/" .User.GetEmail }}/x{{ else }}/{{ .User.GetEmail }}{{ end }}`',
        'go `{{ if not (contains "/" .User.GetEmail) }}/{{ .User.GetEmail }}{{ end }}`',
        'go `{{ if .User.GetEmail | contains "/" }}{{ else }}/{{ .User.GetEmail }}{{ end }}`',
        'go `{{ if and .User (eq .User.GetEmail "a") }}/{{ .User.GetEmail }}{{ end }}`',
        'go `{{ if ne .User.GetEmail "a" }}{{ else }}/{{ .User.GetEmail }}{{ end }}`',
        'go `{{ if regexMatch "^[a-z]+$" .User.GetEmail }}/{{ .User.GetEmail }}{{ end }}`',
        'go `{{ if eq (.Request.Header.Get "A") "a" }}/{{ .Request.Header.Get "A" }}{{ end }}`',
        "go `/plain`",
        "jinja `/{{ user.username }}/{{ groups.rest }}/{{ key }}/{{ request.host }}`",
        "jinja `/{% if 'de' in user.groups %}de{% endif %}`",
        "jinja `/{{ 'x' if request.headers.team == 'blue' else 'y' }}`",
        "jinja `/{{ user.groups | length }}`",
        'jinja `/{{ request.headers.team | replace("/", "") }}`',
        'jinja `/{{ request.headers.team.replace("/", "-") }}`',
        "jinja `/{{ user.email is defined }}/{{ not user.email }}`",
        "jinja `{% if request.headers.team in ('blue', 'red') %}/{{ request.headers.team }}{% endif %}`",
        "jinja `{% if user and request.headers['X-T'] == 'a' %}/{{ request.headers['x-t'] }}{% endif %}`",
        "jinja `/{{ request.headers.team if request.headers.team == 'blue' else 'none' }}`",
        "jinja `{% if request.query.page.isdigit() %}/{{ request.query.page }}{% endif %}`",
        "jinja `/{{ 'x' if user.email == 'a' }}`",
        "jinja `{% set team = request.headers.team %}{% if team in ['a'] %}/{{ team }}{% endif %}`",
        "jinja `{% set ns = namespace(a=1) %}/{{ ns.a }}`",
        'jinja `/{{ request.headers["X"].split("/")[0] }}`',
        "jinja `/{{ user.email.split('/') | last }}/{{ user.email.rsplit('/', 1)[-1] }}/{{ user.email.partition('/') | first }}`",
        'jinja `{% if "/" not in user.email %}/{{ user.email }}{% endif %}`',
        'jinja `{% if "/" in user.email %}/x{% elif user %}/{{ user.email }}{% else %}/{{ user.email }}{% endif %}`',
        "jinja `{% if not ('/' in user.email or user.name != 'a') %}/{{ user.email }}{{ user.name }}{% endif %}`",
        "jinja `{% if user.email not in ['a'] %}/x{% else %}/{{ user.email }}{% endif %}`",
        "jinja `/{{ 'none' if '/' in user.email else user.email }}`",
        'jinja `/{{ {"a": "b"}.get(request.headers.x, "c") }}`',
        "jinja `{% set names = {'a': 'b'} %}/{{ names[user.email] }}{{ names.get(user.email) }}`",
        "jinja `/plain`",
    ],
)
def test_a_safe_use_of_a_client_s_value_has_no_finding(template):
    """A value that is compared with allowed values, loses its slashes, or is part of the key is accepted."""
    assert marked_texts(UNSAFE_INSERTION, f"rewrite `^/(?P<rest>.*)$` -> {template}") == []


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("jinja `/{{ request.headers['X-Team'] }}`", '| replace("/", "")'),
        ('go `/{{ .Request.Header.Get "X-Team" }}`', '| replace "/" ""'),
    ],
)
def test_the_help_shows_how_to_remove_slashes(template, expected):
    """The help is written in the dialect of the template."""
    (finding,) = findings(UNSAFE_INSERTION, f"rewrite `^/a$` -> {template}")
    assert expected in finding.help


def test_the_finding_is_at_the_name_of_the_value():
    """The span is the name that the template reads, on any line."""
    assert marked_texts(UNSAFE_INSERTION, "rewrite `^/a$` -> jinja `\n  /{{ user.email }}\n`") == ["email"]


def test_an_unmatchable_rewrite_is_not_tried():
    assert marked_texts(UNSAFE_INSERTION, "rewrite `^a$` -> jinja `/{{ user.email }}`") == []


MISSING_VALUE = "missing-value"


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("jinja `/{{ request.headers['x-team'] }}`", "missing header `x-team`"),
        ("jinja `/{{ user.username }}/{{ request.query.page }}`", "missing query parameter `page`"),
        ('go `/{{ index .Request.Header "X-Team" 0 }}`', "missing `X-Team`"),
    ],
)
def test_a_value_may_be_missing(template, reason):
    """The message has a key that is refused, and the error of the template."""
    (finding,) = findings(MISSING_VALUE, f"rewrite `^/a/(.*)$` -> {template}")
    assert finding.message.startswith(f"`/a/` is refused with 400 if the client sends no value: {reason}")


@pytest.mark.parametrize(
    "template",
    [
        "jinja `/{{ request.headers['x-team']|default('none') }}`",
        "jinja `/{{ request.query.page if 'page' in request.query else 1 }}`",
        'go `/{{ .Request.Header.Get "X-Team" }}`',
        "jinja `/{{ 1 // 0 }}`",
        "`/x/$1`",
    ],
)
def test_a_template_that_needs_no_value_has_no_finding(template):
    assert marked_texts(MISSING_VALUE, f"rewrite `^/a/(.*)$` -> {template}") == []


def test_a_tested_refusal_has_no_finding():
    """A test of a request without the value says that it is meant."""
    rewrite = "rewrite `^/a$` -> jinja `/{{ request.headers['x-team'] }}`"
    assert marked_texts(MISSING_VALUE, f'{rewrite}\ntest "/a" -> error') == []
    assert len(marked_texts(MISSING_VALUE, f'{rewrite}\ntest "/a" header "X-Team" "b" -> "/b"')) == 1


def test_a_rewrite_that_no_key_reaches_misses_no_value():
    """Without an example, nothing is tried."""
    rewrites = "rewrite `.` -> `/x`\nrewrite `^/a$` -> jinja `/{{ request.query.page }}`"
    assert marked_texts(MISSING_VALUE, rewrites) == []
