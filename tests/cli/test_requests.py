from dataclasses import astuple

import pytest
from command_lines import imported_by
from rule_sites import rule_sets

from tornado_proxy.cli.main import load_command
from tornado_proxy.cli.requests import request_defaults, requests_of
from tornado_proxy.semantics.request import User

RULES = r"""
target site {
    # The press pages moved in 2024.
    rewrite `^/old/` -> "/older$0"
    rewrite press `^/press/(?P<page>[^/]+)\.html$` -> "/archive/press/$page.html"
    rewrite `^/never$` -> "/"
}
target other {}
"""

CONFIGURATION = """
rules: [rules/]
authProviders: {basic: {staff: {realm: Files}}}
targets:
  site:
    mount: {host: "*.example.com", path: [/docs/]}
    bucket: {name: files, prefix: folder1, region: eu-west-1}
    actions:
      GET: {enabled: true, config: {indexDocument: index.html}}
      PUT: {enabled: true}
    resources:
      - {path: /docs/open/**, methods: [GET], whiteList: true}
      - path: /docs/**
        methods: [GET, PUT]
        provider: staff
        basic: {credentials: [{user: ann, password: {env: NOT_SET}}]}
  other:
    mount: {host: "", path: [/]}
    bucket: {name: other, region: eu-west-1}
"""


@pytest.fixture
def files(command, tmp_path):
    """Writes rules and a configuration to the current directory."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "site.rules").write_text(RULES)
    (tmp_path / "proxy.yaml").write_text(CONFIGURATION)
    return tmp_path


@pytest.fixture
def explain(files, command):
    """Returns a function that runs `explain` and returns its status, output and errors."""
    return lambda *words: astuple(command("explain", *words))


SITE = ("--rules", "rules", "--target", "site")
CONFIGURED = ("--config", "proxy.yaml", "--host", "www.example.com")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["/%zz", *SITE], "plan        refuse  400 Bad Request: the path contains a `%` without two hexadecimal digits"),
        (["docs", *SITE], "plan        refuse  400 Bad Request: the request has neither a path nor an absolute address"),
        (["/a/../b", *SITE], "plan        refuse  400 Bad Request: the path contains a `.` or `..` segment"),
        (["/\udcff", *SITE], "plan        refuse  400 Bad Request: the path is not valid UTF-8"),
        (["/docs/x", *CONFIGURED], "plan        refuse  401 Unauthorized: nobody is signed in with `staff`"),
        (["/docs/x", *CONFIGURED, "--user", "eve"], "plan        refuse  401 Unauthorized: `eve` is not listed"),
        (["/docs/x", *CONFIGURED, "--method", "DELETE"], "plan        refuse  405 Method Not Allowed: the method `DELETE` is not enabled"),
        (
            ["/docs/x", "--config", "proxy.yaml", "--target", "site"],
            "plan        refuse  404 Not Found: no target is mounted at this host and path",
        ),
    ],
)  # fmt: skip
def test_a_refusal_is_explained_with_status_0(explain, words, line):
    status, printed, _ = explain(*words)
    assert status == 0
    assert line in printed.splitlines()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["http://www.example.com:80/docs/open/a", "--config", "proxy.yaml"], "target      site, mounted at *.example.com/docs/"),
        (["/docs/a", "--config", "proxy.yaml"], "target      other, mounted at /"),
        (["/é x", *SITE], "key         /é x"),
        (["/x", *SITE, "--method", "PUT"], "plan        refuse  400 Bad Request: the path of an upload does not end in `/`"),
        (
            ["/press/", *SITE, "--method", "PUT", "--file-name", "a.html"],
            "plan        receive  archive/press/a.html, available at /press/a.html",
        ),
        (["/x", *SITE, "--method", "DELETE", "--user", "ann"], "DELETE /x as ann"),
        (["/docs/open/x", *CONFIGURED, "--user", "ann"], "            no sign-in is required, so templates do not see the user `ann`"),
        (["/x", "--rules", "rules", "--target", "other"], "rewrites    none"),
        (["/press/a.html", "--rules", "rules/site.rules", "--target", "site"], "object key  archive/press/a.html"),
    ],
)  # fmt: skip
def test_options_describe_the_request(explain, words, line):
    status, printed, errors = explain(*words)
    assert (status, errors) == (0, "")
    assert line in printed.splitlines()


TEMPLATES = """
target site {
    rewrite home `^/home/(?P<rest>.*)$` -> jinja "/users/{{ user.username }}/{{ groups.rest }}"
    rewrite `^/about$` -> jinja "/{{ request.method }}/{{ request.host }}/{{ user.email }}/{{ user.groups | join('+') }}"
    rewrite `^/team$` -> jinja "/{{ request.headers['X-Team'] }}/{{ request.query['q'] }}"
}
"""


def test_a_location_begins_with_the_public_path(explain, files):
    """The plan of a redirect has the location that the service sends."""
    (files / "rules/site.rules").write_text('target other { redirect 301 `^/a$` -> "/b" }')
    (files / "proxy.yaml").write_text(f"server: {{publicPath: /files}}\n{CONFIGURATION}")
    _, printed, _ = explain("/a", "--config", "proxy.yaml")
    assert "plan        redirect  301 /files/b" in printed.splitlines()


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["/home/a%20b", "--user", "ann"], ["object key  users/ann/a b"]),
        (["/home/a", "--user", "ann"], ["template    /users/{{ user.username }}/{{ groups.rest }}  (jinja)"]),
        (
            ["/about", "--user", "ann", "--host", "X.com:80", "--email", "a@x.com", "--user-groups", "red, blue"],
            ["object key  GET/x.com/a@x.com/red+blue"],
        ),
        (["/team?q=a%2Bb", "--header", "X-Team: red"], ["object key  red/a+b"]),
        (["/team?q=..", "--header", "X-Team: .."], ["error       400 Bad Request: the result contains a `.` or `..` segment"]),
    ],
)  # fmt: skip
def test_templates_read_the_request_of_the_options(explain, files, words, lines):
    (files / "rules" / "site.rules").write_text(TEMPLATES)
    status, printed, errors = explain(*words, *SITE)
    assert (status, errors) == (0, "")
    assert [line for line in lines if line not in printed.splitlines()] == []


def test_rules_of_several_places_are_joined(explain, files):
    (files / "more.rules").write_text('target site { rewrite `.` -> "/first" }')
    assert "object key  first\n" in explain("/x", "--rules", "more.rules", *SITE)[1]
    assert "object key  first\n" not in explain("/press/a.html", *SITE, "--rules", "more.rules")[1]


def test_the_option_rules_replaces_the_rules_of_the_configuration(explain, files):
    """An edit can be tried with the configuration before it is installed."""
    (files / "edit.rules").write_text('target site { rewrite `.` -> "/edited" }')
    _, printed, _ = explain("/docs/open/a", *CONFIGURED, "--rules", "edit.rules")
    assert "object key  folder1/edited\n" in printed


@pytest.mark.parametrize(
    ("name", "text", "words", "expected"),
    [
        ("rules/b.rules", 'target site { rewrite `(` -> "/" }', SITE, "rules/b.rules:1:"),
        ("rules/b.rules", b"\xff", SITE, "rules/b.rules"),
        ("rules/b.rules", "target sit {}", CONFIGURED, "the configuration has no target `sit`"),
        ("proxy.yaml", "targets: {site: {bukket: {}}}", CONFIGURED, "proxy.yaml:1:"),
        ("proxy.yaml", b"\xff", CONFIGURED, "proxy.yaml:1:1"),
    ],
)
def test_an_invalid_file_is_a_finding(explain, files, name, text, words, expected):
    (files / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    status, printed, errors = explain("/x", *words)
    assert (status, printed) == (1, "")
    assert expected in errors


def test_the_only_target_need_not_be_named(explain, files):
    (files / "one.rules").write_text('target site { rewrite one `^/a$` -> "/b" }')
    status, printed, _ = explain("/a", "--rules", "one.rules")
    assert (status, "one" in printed) == (0, True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["/x"], "give `--rules` or `--config`"),
        (["/x", "--rules", "rules"], "give `--target` or `--config`: the targets are `site`, `other`"),
        (["/x", "--rules", "rules", "--target", "zzz"], "unknown target `zzz`; there are `site` and `other`\n"),
        (["/x", *CONFIGURED, "--target", "sit"], "unknown target `sit`; did you mean `site`?"),
        (["/x", *CONFIGURED, "--prefix", "p"], "`--prefix` cannot be used with `--config`"),
        (["/x", "--rules", "nothing", "--target", "site"], "there is no `nothing`"),
        (["/x", "--config", "nothing.yaml"], "nothing.yaml"),
        (["/x", *SITE, "--prefix", "a/../b"], "`a/../b`"),
        (["/x", *SITE, "--header", "X-Team"], "`X-Team` is not `NAME:VALUE`"),
        (["/x", *SITE, "--header", ":red"], "`:red` is not `NAME:VALUE`"),
        (["/x", *SITE, "--host", "a/b"], "invalid host `a/b`: it contains `/`"),
        (["/x", *SITE, "--user", "a/b"], "invalid user name `a/b`: it contains a `/`"),
        (["/x", *SITE, "--method", "POST"], "invalid choice: 'POST'"),
        ([], "PATH"),
    ],
)
def test_an_unusable_command_line_of_explain_is_a_failure(explain, words, expected):
    status, printed, errors = explain(*words)
    assert (status, printed) == (2, "")
    assert expected in errors


def test_explaining_with_a_configuration_imports_no_server(files):
    assert imported_by(["explain", "/press/a.html", *CONFIGURED]) <= {"yaml", "asyncio", "jinja2"}


def _parse(*words):
    return load_command("explain")[1].parse_args(words)


@pytest.mark.parametrize(
    ("words", "user"),
    [
        ([], None),
        (["--user", "ann"], User("ann")),
        (["--user", "ann", "--user-groups", "a, b,"], User("ann", "HEADER", "", ("a", "b"))),
        (["--user", "ann", "--email", "a@example.com"], User("ann", "HEADER", "a@example.com")),
    ],
)
def test_a_user_with_groups_or_an_address_has_signed_in_by_header(words, user):
    """Only a provider of headers gives groups and an address, as in tests of rules."""
    assert request_defaults(_parse(*words)).user == user


def test_defaults_of_all_requests_have_host_and_headers():
    """The host is unchanged, and the headers keep their order."""
    defaults = request_defaults(_parse("--host", "WWW.example.com:80", "--header", "A: 1", "--header", "A:2"))
    assert (defaults.user, defaults.host, defaults.headers) == (None, "WWW.example.com:80", (("A", "1"), ("A", "2")))


@pytest.mark.parametrize(
    ("template", "distinct_count"),
    [('"/$1"', 1), ('jinja "/{{ user.username }}"', 1), ('jinja "/{{ request.query.v }}"', 2), ('go "/x"', 2)],
)
def test_queries_of_a_log_are_kept_if_a_template_may_read_them(tmp_path, template, distinct_count):
    """Requests that differ only by query are distinct only then."""
    log = tmp_path / "paths"
    log.write_text("/a?v=1\n/a?v=2\n")
    rules = rule_sets(f"target site {{ rewrite `^/(a)$` -> {template} }}")
    assert len(requests_of(log, rules.values()).requests) == distinct_count
