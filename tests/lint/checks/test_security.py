import pytest
from linting import findings, places, settings

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
OPEN = "{path: %s, methods: [%s], whiteList: true}"


def test_without_a_configuration_nothing_is_known():
    """Whether anybody may come is the configuration's to say."""
    assert places(MISSING_USER, HOME) == []


def test_a_target_without_resources_is_open():
    """A request is shown that needs no sign-in, with its mount."""
    (found,) = findings(MISSING_USER, HOME, _configuration())
    assert (
        found.message
        == "this reads the user, but `GET /docs/home/` needs no sign-in: without a user it is refused with 403"
    )


def test_a_protected_target():
    """Where everybody signs in there is always a user."""
    assert places(MISSING_USER, HOME, _configuration(STAFF % "/docs/**")) == []


def test_a_resource_that_leaves_a_part_open():
    """A key is looked for that lies in what is open."""
    resources = f"{OPEN % ('/docs/home/open/**', 'GET')}, {STAFF % '/docs/**'}"
    (found,) = findings(MISSING_USER, HOME, _configuration(resources))
    assert "`GET /docs/home/open/" in found.message or "`GET /docs/home/open`" in found.message


def test_an_open_part_elsewhere():
    """What is open is not what the rewrite takes."""
    resources = f"{OPEN % ('/docs/public/**', 'GET')}, {STAFF % '/docs/**'}"
    assert places(MISSING_USER, HOME, _configuration(resources)) == []


def test_methods_that_are_open():
    """A method that is enabled and open counts, too."""
    resources = f"{OPEN % ('/docs/**', 'PUT')}, {STAFF % '/docs/**'}"
    (found,) = findings(MISSING_USER, HOME, _configuration(resources, "PUT: {enabled: true}"))
    assert "`PUT /docs/home/" in found.message


@pytest.mark.parametrize(
    "template",
    [
        "jinja `/{{ user.username if user else 'guest' }}`",
        "jinja `/{% if user and 'de' in user.groups %}de{% else %}en{% endif %}`",
        "jinja `/{{ user.email if user else 1/0 }}`",
        "`/users/$1`",
    ],
)
def test_templates_that_ask_first(template):
    """What renders without a user, or fails for another reason, is not a finding of this check."""
    assert places(MISSING_USER, f"rewrite `^/home/(.*)$` -> {template}", _configuration()) == []


@pytest.mark.parametrize("source", ["/home/", "^/home/|^/mine/"])
def test_sources_that_are_hard_to_place_are_tried_with_examples(source):
    """Without one anchor in front only keys that come to mind are tried, and those of tests."""
    text = f'rewrite `{source}` -> jinja `/{{{{ user.username }}}}`\ntest "/home/open/a" -> error'
    resources = f"{OPEN % ('/docs/home/open/**', 'GET')}, {STAFF % '/docs/**'}"
    (found,) = findings(MISSING_USER, text, _configuration(resources))
    assert "`GET /docs/home/open/a`" in found.message


@pytest.mark.parametrize("source", ["/home/", "^/home/|^/mine/"])
def test_what_cannot_be_placed_is_not_guessed(source):
    """Where no key comes to mind that is open, nothing is said."""
    resources = f"{OPEN % ('/docs/home/open/**', 'GET')}, {STAFF % '/docs/**'}"
    assert (
        places(MISSING_USER, f"rewrite `{source}` -> jinja `/{{{{ user.username }}}}`", _configuration(resources)) == []
    )


def test_other_targets_are_passed_over():
    """A target that the configuration does not name is not judged."""
    assert places(MISSING_USER, f"}} target other {{ {HOME}", _configuration()) == []


@pytest.mark.parametrize(
    "template", ['"/$1"', 'jinja "/{{ user.username }}/{{ groups[1] }}"', 'go "/{{ .User.GetUsername }}{{ .Key }}"']
)
def test_what_spans_one_segment_or_is_part_of_the_key(template):
    """A user's name, the key and its groups are no finding."""
    assert places(UNSAFE_INSERTION, f"rewrite `^/(.*)$` -> {template}") == []


@pytest.mark.parametrize(
    ("template", "what", "cure"),
    [
        ("jinja `/{{ request.headers['X-Team'] }}`", "this inserts a header", '| replace("/", "")'),
        ('go `/{{ .Request.Header.Get "X-Team" }}`', "this inserts a header", '| replace "/" ""'),
    ],
)
def test_what_a_client_chooses_is_found_in_both_dialects(template, what, cure):
    """The message says what is inserted, the help how its slashes go in this dialect."""
    (found,) = findings(UNSAFE_INSERTION, f"rewrite `^/a$` -> {template}")
    assert found.message.startswith(what)
    assert cure in found.help


def test_carets_are_under_the_value():
    """The place is that of the value in the template, wherever it is on its lines."""
    assert places(UNSAFE_INSERTION, "rewrite `^/a$` -> jinja `\n  /{{ user.email }}\n`") == ["user.email"]


def test_a_list_that_is_inserted_as_it_is():
    """All groups of a user have no text: the help says how one has it, or all."""
    (found,) = findings(UNSAFE_INSERTION, "rewrite `^/a$` -> jinja `/{{ user.groups }}`")
    assert found.message == "this inserts all groups of the user: a list is not text, so the template always fails"
    assert found.help == 'write one of them, `user.groups[0]`, or join them: `user.groups | join("-")`'
