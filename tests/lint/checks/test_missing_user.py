import pytest
from linting import findings, places, settings

NAME = "missing-user"
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
    assert places(NAME, HOME) == []


def test_a_target_without_resources_is_open():
    """A request is shown that needs no sign-in, with its mount."""
    (found,) = findings(NAME, HOME, _configuration())
    assert found.message == "this reads the user, but nobody need sign in for `GET /docs/home/`: it is refused with 403"


def test_a_protected_target():
    """Where everybody signs in there is always a user."""
    assert places(NAME, HOME, _configuration(STAFF % "/docs/**")) == []


def test_a_resource_that_leaves_a_part_open():
    """A key is looked for that lies in what is open."""
    resources = f"{OPEN % ('/docs/home/open/**', 'GET')}, {STAFF % '/docs/**'}"
    (found,) = findings(NAME, HOME, _configuration(resources))
    assert "`GET /docs/home/open/" in found.message or "`GET /docs/home/open`" in found.message


def test_an_open_part_elsewhere():
    """What is open is not what the rewrite takes."""
    resources = f"{OPEN % ('/docs/public/**', 'GET')}, {STAFF % '/docs/**'}"
    assert places(NAME, HOME, _configuration(resources)) == []


def test_methods_that_are_open():
    """A method that is enabled and open counts, too."""
    resources = f"{OPEN % ('/docs/**', 'PUT')}, {STAFF % '/docs/**'}"
    (found,) = findings(NAME, HOME, _configuration(resources, "PUT: {enabled: true}"))
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
    assert places(NAME, f"rewrite `^/home/(.*)$` -> {template}", _configuration()) == []


@pytest.mark.parametrize("source", ["/home/", "^/home/|^/mine/"])
def test_sources_that_are_hard_to_place_are_tried_with_examples(source):
    """Without one anchor in front only keys that come to mind are tried, and those of tests."""
    text = f'rewrite `{source}` -> jinja `/{{{{ user.username }}}}`\ntest "/home/open/a" -> error'
    resources = f"{OPEN % ('/docs/home/open/**', 'GET')}, {STAFF % '/docs/**'}"
    (found,) = findings(NAME, text, _configuration(resources))
    assert "`GET /docs/home/open/a`" in found.message


@pytest.mark.parametrize("source", ["/home/", "^/home/|^/mine/"])
def test_what_cannot_be_placed_is_not_guessed(source):
    """Where no key comes to mind that is open, nothing is said."""
    resources = f"{OPEN % ('/docs/home/open/**', 'GET')}, {STAFF % '/docs/**'}"
    assert places(NAME, f"rewrite `{source}` -> jinja `/{{{{ user.username }}}}`", _configuration(resources)) == []


def test_other_targets_are_passed_over():
    """A target that the configuration does not name is not judged."""
    assert places(NAME, f"}} target other {{ {HOME}", _configuration()) == []
