from __future__ import annotations

import pytest
from configurations import codes_and_messages, compiled, report

USERS = "basic: {credentials: [{user: ann, password: {env: ANN}}]}"
STAFF = f"provider: staff, {USERS}"
WHITE_LIST = "whiteList: true"


def _text(*resources, mount="{path: /}", actions="{}", providers="{staff: {realm: Files}}"):
    items = "".join(f"      - {{{resource}}}\n" for resource in resources)
    return f"""\
authProviders: {{basic: {providers}}}
targets:
  site:
    bucket: {{name: my-bucket}}
    mount: {mount}
    actions: {actions}
    resources:
{items}"""


def _codes_and_messages(*resources, **parts):
    return codes_and_messages(_text(*resources, **parts))


def _only_diagnostic(*resources, **parts):
    (diagnostic,) = compiled(_text(*resources, **parts)).diagnostics
    return diagnostic


@pytest.mark.parametrize(
    ("providers", "help"),
    [
        ("{staff: {realm: Files}}", "did you mean `staff`?"),
        ("{guests: {realm: Files}, friends: {realm: Files}}", "the providers are `guests` and `friends`"),
        ("{}", "declare it in `authProviders`"),
    ],
)
def test_an_unknown_provider_has_a_help(providers, help):
    """The help names the similar provider, or all providers, or the section to declare one."""
    assert _only_diagnostic(f"path: /**, provider: staf, {USERS}", providers=providers).help == help


@pytest.mark.parametrize(
    ("glob", "mount"),
    [
        ("/public/**", "{path: /files}"),
        ("/file", "{path: /files}"),
        ("/files", "{path: /files/deep}"),
        ("/filesystem/*", "{path: /files}"),
    ],
)
def test_a_glob_outside_the_mount_has_a_warning(glob, mount):
    """A glob that doesn't begin with the mount path covers nothing, because it matches the whole request path."""
    diagnostic = _only_diagnostic(f"path: {glob}, {WHITE_LIST}", mount=mount)
    assert (diagnostic.code, diagnostic.message) == ("outside-mount", "the glob covers nothing of target `site`")


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
def test_a_glob_inside_the_mount_has_no_warning(glob, mount):
    """A glob has a warning only if it certainly covers nothing."""
    assert _codes_and_messages(f"path: {glob}, {WHITE_LIST}", mount=mount) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("path: /**", "path: /public/**"),
        ("path: /a/**", "path: /a"),
        ("path: /a/*", "path: /a/*"),
        ("path: /**, methods: [GET, PUT]", "path: /x, methods: [PUT]"),
    ],
)
def test_an_unreachable_resource_has_a_warning(first, second):
    """A resource after a more general one is never used, because the first match decides."""
    diagnostic = _only_diagnostic(f"{first}, {WHITE_LIST}", f"{second}, {STAFF}")
    assert diagnostic.code == "unreachable-resource"
    assert diagnostic.message.endswith("is never used: an earlier resource matches first")
    assert diagnostic.notes[0].message == "this one matches its requests"


def test_several_resources_together_may_hide_a_resource():
    """A resource is unreachable if the earlier resources together match all of its requests."""
    resources = (f"path: /**, methods: [GET], {WHITE_LIST}", f"path: /a/**, methods: [PUT], {WHITE_LIST}")
    diagnostics = _codes_and_messages(*resources, f"path: /a/b, methods: [GET, PUT], {STAFF}")
    assert [code for code, _ in diagnostics] == ["unreachable-resource"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("path: /public/**", "path: /**"),
        ("path: /a/**", "path: /ab"),
        ("path: /**, methods: [PUT]", "path: /a"),
        ("path: /*/**", "path: /a"),
    ],
)
def test_a_reachable_resource_has_no_warning(first, second):
    """A resource that some request reaches has no warning."""
    assert _codes_and_messages(f"{first}, {WHITE_LIST}", f"{second}, {STAFF}") == []


def _codes_and_messages_of_actions(actions):
    text = f"targets: {{site: {{bucket: {{name: my-bucket}}, actions: {{{actions}}}}}}}"
    return codes_and_messages(text)


def test_open_reads_have_no_warning():
    """A target without resources that enables only GET has no warning."""
    assert _codes_and_messages_of_actions("GET: {enabled: true}") == []


def test_a_disabled_method_needs_no_resource():
    """A disabled method without a resource has no warning."""
    assert (
        _codes_and_messages(
            f"path: /**, methods: [PUT], {STAFF}", actions="{GET: {enabled: false}, PUT: {enabled: true}}"
        )
        == []
    )


def test_user_isolation_needs_users():
    """`userIsolation` is an error without resources, and has a warning for an open resource."""
    actions = "actions: {GET: {config: {userIsolation: true}}}"
    printed = report(f"targets: {{site: {{bucket: {{name: b}}, {actions}}}}}")
    assert "error[isolation-without-users]: `userIsolation` needs users, and nobody has to sign in" in printed
    resources = "resources: [{path: /**, whiteList: true}]"
    printed = report(f"targets: {{site: {{bucket: {{name: b}}, {actions}, {resources}}}}}")
    assert "warning[isolation-without-users]: `userIsolation` refuses everyone here: nobody signs in" in printed
