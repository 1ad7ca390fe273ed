"""Tests that configurations with which s3-proxy does not start are refused: they never ran."""

from __future__ import annotations

import re

import pytest
from conversions import converted, converted_target

from tornado_proxy.tools.convert.options import Unreadable

TARGET = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}"
PROVIDERS = "basic: {staff: {realm: Staff}}, oidc: {company: {issuerUrl: https://id.example/, clientID: me, clientSecret: {value: s}}}"
NEEDED = "issuerUrl: https://id.example/, clientID: me, state: s"

REFUSED = {
    "targets: {site: {mount: {path: [files/]}, bucket: {name: b}}}": "the mount path `files/` is not of the form `/…/`",
    "targets: {site: {mount: {path: [/files]}, bucket: {name: b}}}": "the mount path `/files` is not of the form `/…/`",
    f"{TARGET}\nlistTargets: {{enabled: true, mount: {{path: [/list]}}}}": "the mount path `/list` is not of the form",
    f"{TARGET}\nlistTargets: {{enabled: true}}": "`listTargets` has no `mount`",
    "targets: {site: {mount: {path: [/]}, bucket: {name: b}, actions: {GET: {enabled: false}}}}": (
        "`targets.site.actions` enables no action"
    ),
    "targets: {one: {mount: {path: [/]}, bucket: {name: b}}, two: {mount: {host: '*', path: [/a/, /]}, bucket: {name: b}}}": (
        "the mount path `/` is given twice for one host"
    ),
    "targets: {one: {mount: {path: [/]}, bucket: {name: b}}}\nlistTargets: {enabled: true, mount: {path: [/]}}": (
        "the mount path `/` is given twice for one host"
    ),
    "targets: {one: {mount: {path: [/]}, bucket: {name: b}, actions: {GET: {enabled: true, config: {userIsolation: true}}}}}": (
        "`targets.one` isolates users, and no resource signs them in"
    ),
    f"{TARGET}\nlistTargets: {{mount: {{host: a.test}}}}": "`listTargets.mount` has no `path`",
    f"{TARGET}\ntemplates: {{helpers: []}}": "`templates.helpers` is empty",
    f"{TARGET}\ntemplates: {{targetList: {{path: ''}}}}": "`templates.targetList.path` is empty",
    f"{TARGET}\nserver: {{ssl: {{minTLSVersion: '9'}}}}": "`server.ssl.minTLSVersion` is not a version of TLS",
    f"{TARGET}\nserver: {{ssl: {{certificates: [{{certificate: x}}]}}}}": (
        "`privateKey` and `privateKeyUrl` are both missing"
    ),
    f"{TARGET}\nserver: {{ssl: {{enabled: true}}}}": "`server.ssl` has neither `certificates` nor `selfSignedHostnames`",
    f"{TARGET}\nserver: {{port: 0}}": "`server.port` is 0",
    f"{TARGET}\nserver: {{compress: {{enabled: false, level: 0}}}}": "`server.compress.level` is less than 1",
    f"{TARGET}\nserver: {{compress: {{enabled: false, types: []}}}}": "`server.compress.types` is empty",
    f"{TARGET}\nlog: {{level: loud}}": "`loud` is not a level",
    f"{TARGET}\nserver: {{ssl: {{enabled: true, certificates: [{{certificate: x, certificateUrl: a}}]}}}}": (
        "`certificate` and `certificateUrl` are both given"
    ),
    f"{TARGET}\nserver: {{ssl: {{certificates: [{{privateKeyUrl: s3://a/b, privateKeyUrlConfig: {{httpTimeout: -1s}}}}]}}}}": (
        "`-1s` is negative"
    ),
    f"{TARGET}\nauthProviders: {{oidc: {{id: {{clientID: me}}}}}}": "`authProviders.oidc.id.issuerUrl` is missing",
    f"{TARGET}\nauthProviders: {{oidc: {{id: {{issuerUrl: id, clientID: me}}}}}}": (
        "`authProviders.oidc.id.issuerUrl` is not a URL"
    ),
    f"{TARGET}\nauthProviders: {{oidc: {{id: {{{NEEDED}, redirectUrl: id}}}}}}": "redirectUrl` is not a URL",
    f"{TARGET}\nauthProviders: {{oidc: {{id: {{{NEEDED.replace('state: s', 'state: a:b')}}}}}}}": "contains a `:`",
    f"{TARGET}\nauthProviders: {{oidc: {{id: {{{NEEDED}, loginPath: /}}}}}}": "cannot be the pages of a sign-in",
    f"{TARGET}\nauthProviders: {{oidc: {{id: {{{NEEDED}, loginPath: /a, callbackPath: /a}}}}}}": "cannot be the pages",
    f"{TARGET}\nauthProviders: {{oidc: {{id: {{{NEEDED}, loginPath: in}}}}}}": "loginPath` cannot be `in`",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items())
def test_a_configuration_that_s3_proxy_refuses_is_refused(text, message):
    """The message has the place, and states that s3-proxy does not start."""
    with pytest.raises(Unreadable, match=rf"0\.yaml:\d+: .*{re.escape(message)}.*, so s3-proxy does not start"):
        converted(text)


SITE = "mount: {path: [/]}, bucket: {name: b}"
FAILING = {
    f"targets: {{site: {{{SITE}, templates: {{put: {{path: '', status: 204}}}}}}}}": (
        "`targets.site.templates.put` has no `path`, so s3-proxy answers 500 where it needs the page"
    ),
    f"{TARGET}\nauthProviders: {{header: {{front: {{usernameHeader: X-User}}}}}}": (
        "`authProviders.header.front.emailHeader` is missing, so nobody can sign in with it"
    ),
    f"{TARGET}\nauthProviders: {{header: {{front: {{usernameHeader: 'a b', emailHeader: X, groupsHeader: 'c d'}}}}}}": (
        "usernameHeader` cannot be `a b`, so nobody can sign in with it"
    ),
    f"{TARGET}\nauthProviders: {{oidc: {{id: {{issuerUrl: http://id/, state: s}}}}}}": (
        "`authProviders.oidc.id.clientID` is missing, so nobody can sign in with it"
    ),
    f"{TARGET}\nauthProviders: {{oidc: {{id: {{{NEEDED}, loginPath: //a}}}}}}": (
        "loginPath` cannot be `//a`, so it cannot be converted"
    ),
}


@pytest.mark.parametrize(("text", "message"), FAILING.items())
def test_a_mistake_that_fails_only_when_it_is_needed_is_refused(text, message):
    """The message states what fails; s3-proxy starts, because its validator does not look there."""
    with pytest.raises(Unreadable, match=re.escape(message)):
        converted(text)


RESOURCES = {
    "whiteList: true, methods: [PATCH]": "has the method `PATCH`",
    "whiteList: false": "has neither `oidc`, `header` nor `basic`, and no `whiteList: true`",
    "provider: staff": "has neither `oidc`, `header` nor `basic`, and no `whiteList: true`",
    "basic: {realm: x}": "has no `provider`",
    "provider: nobody, basic: {credentials: []}": "has the provider `nobody`, which is not one of `authProviders`",
    "provider: staff, oidc: {a: b}": "has the provider `staff`, which is not one of `authProviders.oidc`",
    "whiteList: true, path: a": "has the path `a`, which is not below a mount path",
    "provider: company, oidc: {authorizationAccesses: [{group: a}], authorizationOPAServer: {url: 'http://o/'}}": (
        "has both rules and a policy server"
    ),
    "provider: staff, basic: null": "has neither `oidc`, `header` nor `basic`, and no `whiteList: true`",
}
FAILING_RULES = {
    "provider: company, oidc: {authorizationAccesses: [{regexp: true}]}": (
        "has neither `group` nor `email`, so it is about nobody"
    ),
    "provider: company, oidc: {authorizationOPAServer: {url: o}}": (
        "authorizationOPAServer.url` is not a URL, so s3-proxy answers 500 where it should ask"
    ),
}


@pytest.mark.parametrize(("options", "message"), FAILING_RULES.items())
def test_access_rules_that_decide_nothing_are_refused(options, message):
    """The message states what fails; s3-proxy starts, because its validator does not look there."""
    with pytest.raises(Unreadable, match=re.escape(message)):
        converted_target(f"resources: [{{path: /a, {options}}}]", providers=PROVIDERS)


@pytest.mark.parametrize(("options", "message"), RESOURCES.items())
def test_a_resource_that_s3_proxy_refuses_is_refused(options, message):
    """The access rules of such a resource never applied."""
    with pytest.raises(Unreadable, match=rf"{re.escape(message)}, so s3-proxy does not start"):
        converted_target(f"resources: [{{{'' if 'path:' in options else 'path: /a, '}{options}}}]", providers=PROVIDERS)


def test_the_resource_of_the_page_of_all_targets_is_checked():
    """This resource has the same form as those of a target."""
    text = f"{TARGET}\nlistTargets: {{enabled: true, mount: {{path: [/]}}, resource: {{path: /, provider: staff}}}}"
    with pytest.raises(Unreadable, match="has neither `oidc`, `header` nor `basic`"):
        converted(text)


def test_all_mistakes_are_reported():
    """One run reports every mistake."""
    with pytest.raises(Unreadable) as caught:
        converted(f"{TARGET}\nserver: {{port: 0}}\nlog: {{level: loud}}")
    assert [diagnostic.message for diagnostic in caught.value.diagnostics] == [
        "0.yaml:2: `server.port` is 0, so s3-proxy does not start",
        "0.yaml:3: `loud` is not a level, so s3-proxy does not start",
    ]


def test_a_target_with_head_alone_is_converted():
    """s3-proxy refuses a target with HEAD alone, but its meaning is clear."""
    conversion = converted_target("actions: {HEAD: {enabled: true}}")
    assert conversion.document["targets"]["site"]["actions"]["HEAD"] == {"enabled": True}
