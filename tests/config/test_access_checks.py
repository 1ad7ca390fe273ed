from __future__ import annotations

import pytest
from configurations import compiled, report

USERS = "basic: {credentials: [{user: ann, password: {env: ANN}}]}"
STAFF = f"provider: staff, {USERS}"
OPEN = "whiteList: true"


def _text(*resources, mount="{path: /}", actions="{}", providers="{staff: {realm: Files}}"):
    listed = "".join(f"      - {{{resource}}}\n" for resource in resources)
    return f"""\
authProviders: {{basic: {providers}}}
targets:
  site:
    bucket: {{name: my-bucket}}
    mount: {mount}
    actions: {actions}
    resources:
{listed}"""


def _told(*resources, **parts):
    return [(each.code, each.message) for each in compiled(_text(*resources, **parts)).diagnostics]


def _one(*resources, **parts):
    (told,) = compiled(_text(*resources, **parts)).diagnostics
    return told


@pytest.mark.parametrize(
    "resource", [f"path: /**, {OPEN}", f"path: /**, {STAFF}", f"path: /**, whiteList: false, {STAFF}"]
)
def test_resource_that_decides_is_no_mistake(resource):
    """A resource lets anyone in, or asks for a user."""
    assert _told(resource) == []


@pytest.mark.parametrize(
    ("resource", "code", "message"),
    [
        ("path: /**", "undecided-resource", "the resource has neither `provider` nor `whiteList`"),
        ("path: /**, whiteList: false", "undecided-resource", "the resource has neither `provider` nor `whiteList`"),
        (f"path: /**, {OPEN}, {STAFF}", "contradiction", "`whiteList` and `provider` contradict each other"),
        (f"path: /**, {OPEN}, {USERS}", "contradiction", "`whiteList` and `basic` contradict each other"),
        (f"path: /**, {USERS}", "undecided-resource", "the resource has neither `provider` nor `whiteList`"),
        ("path: /**, provider: staff", "missing-credentials", "the resource has a `provider` but no users"),
        (f"path: /**, provider: staf, {USERS}", "unknown-provider", "unknown provider `staf`"),
    ],
)
def test_resource_that_cannot_be_meant_is_an_error(resource, code, message):
    """A resource must say who may, in one way."""
    assert _told(resource) == [(code, message)]


def test_contradiction_has_both_places():
    """Both options are shown."""
    told = _one(f"path: /**, {OPEN}, {STAFF}")
    assert (told.span.text, told.notes[0].span.text) == ("whiteList", "provider")


@pytest.mark.parametrize(
    ("providers", "help"),
    [
        ("{staff: {realm: Files}}", "did you mean `staff`?"),
        ("{guests: {realm: Files}, friends: {realm: Files}}", "the providers are `guests` and `friends`"),
        ("{}", "declare it in `authProviders`"),
    ],
)
def test_unknown_provider_is_helped_with(providers, help):
    """The help names the provider that may be meant, or those that there are, or where they belong."""
    assert _one(f"path: /**, provider: staf, {USERS}", providers=providers).help == help


def test_user_listed_twice_is_an_error():
    """Only the first password would count, so both places are shown."""
    user = "{user: ann, password: {env: ANN}}"
    told = _one(f"path: /**, provider: staff, basic: {{credentials: [{user}, {user}]}}")
    assert (told.code, told.message) == (
        "duplicate-user",
        "the user `ann` is listed twice, and only the first password counts",
    )
    assert told.notes[0].span.start < told.span.start


@pytest.mark.parametrize(
    ("glob", "mount"),
    [
        ("/public/**", "{path: /files}"),
        ("/file", "{path: /files}"),
        ("/files", "{path: /files/deep}"),
        ("/filesystem/*", "{path: /files}"),
    ],
)
def test_glob_outside_the_mount_is_warned_of(glob, mount):
    """A glob covers the whole request path, so one without the mount covers nothing."""
    told = _one(f"path: {glob}, {OPEN}", mount=mount)
    assert (told.code, told.message) == ("outside-mount", "the glob covers nothing of target `site`")


@pytest.mark.parametrize(
    ("glob", "mount"),
    [
        ("/**", "{path: /files}"),
        ("/files", "{path: /files}"),
        ("/files/**", "{path: /files}"),
        ("/files/a/*", "{path: [/other, /files]}"),
        ("/*/a", "{path: /files}"),
        ("/fi*/a", "{path: /files}"),
    ],
)
def test_glob_that_may_cover_something_is_no_mistake(glob, mount):
    """Only a glob that plainly covers nothing is told."""
    assert _told(f"path: {glob}, {OPEN}", mount=mount) == []


@pytest.mark.parametrize("glob", ["/a?", "'/[ab]'", "'/{a,b}'"])
def test_other_wildcards_are_warned_of(glob):
    """Globs know `*` and `**`; what other globs know stands for itself here."""
    told = _one(f"path: {glob}, {OPEN}")
    assert told.code == "glob-syntax"
    assert told.help == "`*` matches any part of one segment, `**` any number of segments"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("path: /**", "path: /public/**"),
        ("path: /a/**", "path: /a"),
        ("path: /a/*", "path: /a/*"),
        ("path: /**, methods: [GET, PUT]", "path: /x, methods: [PUT]"),
    ],
)
def test_resource_that_never_decides_is_warned_of(first, second):
    """The first that matches decides, so one that comes behind a more general one is dead."""
    told = _one(f"{first}, {OPEN}", f"{second}, {STAFF}")
    assert told.code == "unreachable-resource"
    assert told.message.endswith("is never used: an earlier resource matches first")
    assert told.notes[0].message == "this one matches its requests"


def test_several_resources_together_may_hide_one():
    """What each of the earlier ones leaves to the next is counted."""
    resources = (f"path: /**, methods: [GET], {OPEN}", f"path: /a/**, methods: [PUT], {OPEN}")
    told = _told(*resources, f"path: /a/b, methods: [GET, PUT], {STAFF}")
    assert [code for code, _ in told] == ["unreachable-resource"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("path: /public/**", "path: /**"),
        ("path: /a/**", "path: /ab"),
        ("path: /**, methods: [PUT]", "path: /a"),
        ("path: /*/**", "path: /a"),
    ],
)
def test_special_before_general_is_no_mistake(first, second):
    """A resource that some request reaches is not told."""
    assert _told(f"{first}, {OPEN}", f"{second}, {STAFF}") == []


def _without_resources(actions):
    text = f"targets: {{site: {{bucket: {{name: my-bucket}}, actions: {{{actions}}}}}}}"
    return [(each.code, each.message) for each in compiled(text).diagnostics]


@pytest.mark.parametrize(
    ("actions", "methods"),
    [
        ("PUT: {enabled: true}", "`PUT`"),
        ("DELETE: {enabled: true}", "`DELETE`"),
        ("PUT: {enabled: true}, DELETE: {enabled: true}", "`PUT` and `DELETE`"),
    ],
)
def test_writing_that_is_open_to_anyone_is_warned_of(actions, methods):
    """A target without resources is open, which is seldom meant for what changes it."""
    assert _without_resources(actions) == [("open-writes", f"everyone may {methods} in target `site`")]


def test_reading_may_be_open():
    """A target that only serves is open without a word."""
    assert _without_resources("GET: {enabled: true}") == []


def test_method_that_no_resource_speaks_of_is_warned_of():
    """An action that is on, and that nobody may use, is told."""
    assert _told(f"path: /**, {STAFF}", actions="{PUT: {enabled: true}}") == [
        ("uncovered-method", "`PUT` is enabled, but no resource covers it, so nobody may use it")
    ]


def test_method_that_is_off_needs_no_resource():
    """What is off may go unmentioned."""
    assert _told(f"path: /**, methods: [PUT], {STAFF}", actions="{GET: {enabled: false}, PUT: {enabled: true}}") == []


def test_isolated_users_have_to_sign_in():
    """Without resources the configuration is refused; where anyone may come, there is a warning."""
    actions = "actions: {GET: {config: {userIsolation: true}}}"
    told = report(f"targets: {{site: {{bucket: {{name: b}}, {actions}}}}}")
    assert "error[isolation-without-users]: `userIsolation` needs users, and nobody has to sign in" in told
    resources = "resources: [{path: /**, whiteList: true}]"
    told = report(f"targets: {{site: {{bucket: {{name: b}}, {actions}, {resources}}}}}")
    assert "warning[isolation-without-users]: `userIsolation` refuses everyone here: nobody signs in" in told


def test_the_resource_of_the_page_of_all_targets_is_checked_too():
    """Its provider has to exist, and to have users."""
    page = "listTargets: {enabled: true, resource: {path: /, %s}}\ntargets: {site: {bucket: {name: b}}}\n"
    assert "unknown provider `staf`" in report(
        page % "provider: staf, basic: {credentials: [{user: a, password: {env: ANN}}]}"
    )
    assert "the resource has neither `provider` nor `whiteList`" in report(page % "methods: [GET]")
