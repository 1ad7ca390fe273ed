"""Tests that what s3-proxy refuses or fails on is refused, closed, or named by the check of the new files."""

import re
from pathlib import Path

import pytest
from conversions import converted, converted_target

from tornado_proxy.config.loading import compile_configuration
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.tools.convert.conversion import CONFIGURATION, convert
from tornado_proxy.tools.convert.options import OptionOutcome, Unreadable, together

TARGET = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}"
NEEDED = "issuerUrl: https://id.example/, clientID: me, clientSecret: {value: of sixteen or more}"
PROVIDERS = f"basic: {{staff: {{realm: Staff}}}}, oidc: {{company: {{{NEEDED}}}}}"

NAMED = {
    "server: {ssl: {enabled: true}}": "TLS has no certificate",
    "server: {ssl: {enabled: true, selfSignedHostnames: [a], minTLSVersion: '9'}}": (
        "`minTLSVersion` is not a version of TLS"
    ),
    "server: {ssl: {enabled: true, certificates: [{certificate: x}]}}": "a certificate lacks `privateKey` or",
    "server: {compress: {level: 0}}": "`level` is less than 1",
    "server: {compress: {types: ['text/html; charset=utf-8']}}": "an item of `types` cannot be",
    "server: {compress: {types: []}}": "`types` is empty",
    "server: {listenAddr: ':80'}": "`listenAddr` is not an address",
    "server: {timeouts: {idleTimeout: 20ms}}": "`idleTimeout` is less than 100ms",
    "log: {level: loud}": "`level` cannot be `loud`",
    "templates: {notFoundError: {path: a, headers: {content-length: '1'}}}": "`headers` cannot have `content-length`",
    "authProviders: {oidc: {id: {clientID: me}}}": "`id` lacks `issuerUrl`",
    f"authProviders: {{oidc: {{id: {{{NEEDED}, redirectUrl: id}}}}}}": "`redirectUrl` is not a URL",
    f"authProviders: {{oidc: {{id: {{{NEEDED}, loginPath: in}}}}}}": "`loginPath` cannot be `in`",
    "authProviders: {header: {front: {usernameHeader: X-User}}}": "`front` lacks `emailHeader`",
}


@pytest.mark.parametrize(("text", "message"), NAMED.items())
def test_a_mistake_is_named_by_the_check_of_the_new_files(text, message):
    """It is written as it is: the one reader of configurations says what is wrong, with its place."""
    sources = [SourceFile("target.yaml", f"{TARGET}\nauthProviders: {{{PROVIDERS}}}"), SourceFile("conf.yaml", text)]
    files = convert(together(sources)).files
    loaded = compile_configuration(SourceFile(CONFIGURATION, files[CONFIGURATION]), Path("out"), unresolved)
    assert message in "\n".join(each.message for each in loaded.diagnostics)


OF_A_TARGET = {
    "mount: {path: [/a/../]}, bucket: {name: b}": "an item of `path` contains a `.` or `..` segment",
    "mount: {host: 'x[0-9].org', path: [/b/]}, bucket: {name: b}": "`host` is not a host",
    "mount: {path: [/]}, bucket: {name: 'a b'}": "`name` is not a bucket's name",
    "mount: {path: [/]}, bucket: {name: b, prefix: ..}": "`prefix` contains a `.` or `..` segment",
    "mount: {path: [/]}, bucket: {name: b, s3Endpoint: 'ftp://x'}": "`s3Endpoint` is not the URL of an S3 server",
    "mount: {path: [/]}, bucket: {name: b, requestConfig: {getHeaders: {accept-encoding: gzip}}}": (
        "`getHeaders` cannot have `accept-encoding`"
    ),
    "mount: {path: [/]}, bucket: {name: b}, resources: [{path: /, provider: company, oidc: {authorizationAccesses:"
    " [{group: '(', regexp: true}]}}]": "unclosed group",
}
OF_ACTIONS = {
    "GET: {enabled: true, config: {indexDocument: ../index.html}}": "`indexDocument` contains a `.` or `..` segment",
    "GET: {enabled: true, config: {signedUrlExpiration: 169h}}": "`signedUrlExpiration` is more than 7d",
    "GET: {enabled: true, config: {webhooks: [{method: GET, url: 'http://hook.test/'}]}}": "`method` cannot be `GET`",
    "HEAD: {enabled: true, config: {webhooks: [{url: 'http://hook.test/'}]}}": "`method` cannot be `GET`",
    "PUT: {enabled: true, config: {storageClass: '{{ nope }}'}}": (
        "`storageClass` is not a template: unknown function `nope`"
    ),
    "PUT: {enabled: true, config: {cannedACL: open}}": "`cannedACL` cannot be `open`",
}


@pytest.mark.parametrize(
    ("target", "message"),
    [
        *OF_A_TARGET.items(),
        *(
            (f"mount: {{path: [/]}}, bucket: {{name: b}}, actions: {{{text}}}", each)
            for text, each in OF_ACTIONS.items()
        ),
    ],
)
def test_a_mistake_of_a_target_is_named_by_the_check_of_the_new_files(target, message):
    """Nothing is served before it is mended."""
    test_a_mistake_is_named_by_the_check_of_the_new_files(f"targets: {{bad: {{{target}}}}}", message)


RESOURCES = {
    "basic: {credentials: [{user: ann, password: {env: A}}]}": (
        "it names no `provider`, without which s3-proxy starts only before version 4.18"
    ),
    "provider: company, oidc: {authorizationOPAServer: {tags: {a: b}}}": "its policy server has no `url`",
    "provider: company, oidc: {authorizationAccesses: [{regexp: true}]}": (
        "a rule has neither `group` nor `email`, and is about nobody"
    ),
}


@pytest.mark.parametrize(("options", "reason"), RESOURCES.items())
def test_a_resource_that_nobody_can_use_there_is_closed(options, reason):
    """The rest of the target is converted."""
    conversion = converted_target(
        f"resources: [{{path: /a, {options}}}, {{path: /b, whiteList: true}}]", providers=PROVIDERS
    )
    assert [each.path for each in conversion.settings.targets[0].resources] == ["/b"]
    (message,) = conversion.messages(OptionOutcome.CLOSED)
    assert message.endswith(f"of `/a` is closed to everyone: {reason}")


SITE = "mount: {path: [/]}, bucket: {name: b}"
ONE = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}, resources: [{path: /a, %s}]}}"
LIST = "listTargets: {enabled: true, mount: {path: [/l/]}, resource: {path: /l/, provider: staff}}"
REFUSED = {
    "targets: {site: {mount: {path: [/files]}, bucket: {name: b}}}": "the mount path `/files` is not of the form `/…/`",
    "listTargets: {enabled: true, mount: {path: [/list]}}": "the mount path `/list` is not of the form `/…/`",
    "listTargets: {enabled: true}": "`listTargets` has no `mount` with a `path`",
    f"targets: {{site: {{{SITE}, actions: {{GET: {{enabled: false}}}}}}}}": "`targets.site.actions` enables no action",
    f"targets: {{site: {{{SITE}, actions: {{GET: {{enabled: true, config: {{userIsolation: true}}}}}}}}}}": (
        "`targets.site` isolates users, and no resource signs them in"
    ),
    "templates: {helpers: []}": "`templates.helpers` is empty",
    f"authProviders: {{oidc: {{id: {{{NEEDED}, state: a:b}}}}}}": "`authProviders.oidc.id.state` contains a `:`",
    ONE % "whiteList: true, methods: [PATCH]": "has a method that is none",
    ONE % "whiteList: false": "has neither `oidc`, `header` nor `basic`, and no `whiteList: true`",
    ONE % "provider: nobody, basic: {credentials: []}": "has the provider `nobody`, which is not one of",
    ONE % "provider: staff, oidc: {a: b}": "has the provider `staff`, which is not one of `authProviders`",
    ONE.replace("path: /a", "path: a") % "whiteList: true": "has the path `a`, which is not below a mount path",
    ONE
    % "provider: company, oidc: {authorizationAccesses: [{group: a}], authorizationOPAServer: {url: 'http://o/'}}": (
        "has both rules and a policy server"
    ),
    LIST: "`listTargets.resource` has neither `oidc`, `header` nor `basic`",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items())
def test_a_configuration_that_s3_proxy_refuses_is_refused(text, message):
    """The message has the place, and states that s3-proxy does not start."""
    with pytest.raises(Unreadable, match=rf"conf\.yaml:\d+: .*{re.escape(message)}.*, so s3-proxy does not start"):
        convert(
            together([SourceFile("providers.yaml", f"authProviders: {{{PROVIDERS}}}"), SourceFile("conf.yaml", text)])
        )


def test_all_reasons_are_reported():
    with pytest.raises(Unreadable) as caught:
        converted("listTargets: {enabled: true}\ntemplates: {helpers: []}")
    assert len(caught.value.diagnostics) == 2


def test_a_target_with_head_alone_is_converted():
    """s3-proxy refuses a target with HEAD alone, but its meaning is clear."""
    conversion = converted_target("actions: {HEAD: {enabled: true}}")
    assert conversion.document["targets"]["site"]["actions"]["HEAD"] == {"enabled": True}


@pytest.mark.parametrize(
    "place",
    [
        "mount: {path: [/], resources: [{path: /}]}",
        "mount: {path: [/]}, resource: {a: b}",
        "mount: {path: [/]}, actions: {GET: {enabled: true}, resources: [{path: /}]}",
        "mount: {path: [/]}, basic: {realm: Staff}",
    ],
)
def test_an_option_that_was_meant_to_close_a_target_is_reported(place):
    """Its owner believes that it asks for a password."""
    conversion = converted(f"targets: {{site: {{{place}, bucket: {{name: my-bucket}}}}}}")
    (message,) = conversion.messages(OptionOutcome.LEFT_OUT)
    assert "the target is open unless `resources`, beside `mount`, closes it" in message
