import json
import subprocess
import sys
from textwrap import dedent

import pytest

from tornado_proxy.cli.main import main

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
def files(tmp_path, monkeypatch):
    """A directory with rules and a configuration, in which the command runs."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "site.rules").write_text(RULES)
    (tmp_path / "proxy.yaml").write_text(CONFIGURATION)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def explain(files, capsys):
    """Run the command; its status and what it printed on either stream."""

    def run(*words):
        try:
            status = main(["explain", *words])
        except SystemExit as ended:
            status = ended.code
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


SITE = ("--rules", "rules", "--target", "site")
CONFIGURED = ("--config", "proxy.yaml", "--host", "www.example.com")


def test_it_is_a_pleasure_to_read(explain):
    """A path's whole way, from rule files alone: columns are aligned, and the one that matched is marked."""
    status, printed, _ = explain("/press/spring.html", *SITE, "--prefix", "/folder1")
    assert status == 0
    assert (
        printed
        == dedent(
            r"""
        GET /press/spring.html

        target      site
        key         /press/spring.html

        rewrites    ·  #1     ^/old/                          no match  rules/site.rules:4:5
                              `^/` matches up to `/`, then `o` meets `press/spring.html`
                    ✓  press  ^/press/(?P<page>[^/]+)\.html$  matched   rules/site.rules:5:5
                       1 more, not tried
        groups      $0     /press/spring.html
                    $page  spring
        template    /archive/press/$page.html  (plain)
        result      /archive/press/spring.html
        object key  folder1/archive/press/spring.html

        plan        serve   folder1/archive/press/spring.html
                    refuse  404 Not Found: no object at this key
        """
        ).lstrip()
    )


def test_a_configuration_gives_the_whole_plan(explain):
    """With a configuration, host, mount, access and actions are its own; no secret need be there."""
    status, printed, _ = explain("/docs/press/", *CONFIGURED, "--user", "ann")
    assert status == 0
    assert (
        printed
        == dedent(
            """
        GET /docs/press/ as ann

        target      site, mounted at *.example.com/docs/
        access      /docs/press/  users of `staff`  by `/docs/**`
        key         /press/

        rewrites    ·  #1     ^/old/                          no match  rules/site.rules:4:5
                              `^/` matches up to `/`, then `o` meets `press/`
                    ·  press  ^/press/(?P<page>[^/]+)\\.html$  no match  rules/site.rules:5:5
                              `^/press/` matches up to `/press/`, then `[^/]+` meets the end of the key
                    ·  #3     ^/never$                        no match  rules/site.rules:6:5
                              `^/` matches up to `/`, then `n` meets `press/`
        result      unchanged
        object key  folder1/press/

        plan        serve   folder1/press/index.html
                    browse  folder1/press/
                    refuse  404 Not Found: no objects below this key
        """
        ).lstrip()
    )


def test_programs_read_json(explain):
    """`--format json` has a version and the same facts."""
    status, printed, _ = explain("/press/%C3%A9.html?q=1", *SITE, "--format", "json")
    told = json.loads(printed)
    assert (status, told["version"]) == (0, 1)
    assert told["request"] == {"method": "GET", "path": "/press/é.html", "host": "", "query": "q=1", "user": None}
    assert told["rewriting"]["object_key"] == "archive/press/é.html"
    assert [each["attempt"] for each in told["plan"]] == ["serve", "refuse"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["/%zz", *SITE],
            "plan        refuse  400 Bad Request: the path contains a `%` without two hexadecimal digits",
        ),
        (
            ["docs", *SITE],
            "plan        refuse  400 Bad Request: the request has neither a path nor an absolute address",
        ),
        (["/a/../b", *SITE], "plan        refuse  400 Bad Request: the path contains a `.` or `..` segment"),
        (["/\udcff", *SITE], "plan        refuse  400 Bad Request: the path is not valid UTF-8"),
        (["/docs/x", *CONFIGURED], "plan        refuse  401 Unauthorized: nobody is signed in with `staff`"),
        (["/docs/x", *CONFIGURED, "--user", "eve"], "plan        refuse  401 Unauthorized: `eve` is not listed"),
        (
            ["/docs/x", *CONFIGURED, "--method", "DELETE"],
            "plan        refuse  405 Method Not Allowed: the method `DELETE` is not enabled",
        ),
        (
            ["/docs/x", "--config", "proxy.yaml", "--target", "site"],
            "plan        refuse  404 Not Found: no target is mounted at this host and path",
        ),
    ],
)
def test_a_refusal_is_an_explanation(explain, words, line):
    """Whatever the answer would be, it is explained, and the status is 0."""
    status, printed, _ = explain(*words)
    assert status == 0
    assert line in printed.splitlines()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["http://www.example.com:80/docs/open/a", "--config", "proxy.yaml"],
            "target      site, mounted at *.example.com/docs/",
        ),
        (["/docs/a", "--config", "proxy.yaml"], "target      other, mounted at /"),
        (["/é x", *SITE], "key         /é x"),
        (
            ["/x", *SITE, "--method", "PUT"],
            "plan        refuse  400 Bad Request: the path of an upload does not end in `/`",
        ),
        (
            ["/press/", *SITE, "--method", "PUT", "--file-name", "a.html"],
            "plan        receive  archive/press/a.html, available at /press/a.html",
        ),
        (["/x", *SITE, "--method", "DELETE", "--user", "ann"], "DELETE /x as ann"),
        (
            ["/docs/open/x", *CONFIGURED, "--user", "ann"],
            "            `ann` is not asked to sign in, so templates see no user",
        ),
        (["/x", "--rules", "rules", "--target", "other"], "rewrites    none"),
        (["/press/a.html", "--rules", "rules/site.rules", "--target", "site"], "object key  archive/press/a.html"),
    ],
)
def test_the_request_can_be_described(explain, words, line):
    """Address, method, host, file name and user are what the options say."""
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
        (
            ["/team?q=..", "--header", "X-Team: .."],
            ["error       400 Bad Request: the result contains a `.` or `..` segment"],
        ),
    ],
)
def test_templates_read_what_the_options_say(explain, files, words, lines):
    """Users, headers, hosts and queries are what a template of the same request would read."""
    (files / "rules" / "site.rules").write_text(TEMPLATES)
    status, printed, errors = explain(*words, *SITE)
    assert (status, errors) == (0, "")
    assert [line for line in lines if line not in printed.splitlines()] == []


def test_a_missing_user_is_told(explain, files):
    """A template that reads a user where nobody is signed in ends in a 403, and the rewrite is named."""
    (files / "rules" / "site.rules").write_text(TEMPLATES)
    status, printed, _ = explain("/home/a", *SITE)
    assert status == 0
    assert "\nerror       403 Forbidden: " in printed
    assert "\nplan        refuse  403 Forbidden: rewrite `home`: " in printed


def test_rules_may_stand_in_several_places(explain, files):
    """`--rules` may be repeated; blocks of one target add up in that order."""
    (files / "more.rules").write_text('target site { rewrite `.` -> "/first" }')
    assert "object key  first\n" in explain("/x", "--rules", "more.rules", *SITE)[1]
    assert "object key  first\n" not in explain("/press/a.html", *SITE, "--rules", "more.rules")[1]


def test_rules_given_with_a_configuration_stand_in_for_its_own(explain, files):
    """An edit can be tried against the configuration before it is in place."""
    (files / "edit.rules").write_text('target site { rewrite `.` -> "/edited" }')
    _, printed, _ = explain("/docs/open/a", *CONFIGURED, "--rules", "edit.rules")
    assert "object key  folder1/edited\n" in printed


@pytest.mark.parametrize(
    ("name", "text", "words", "expected"),
    [
        ("rules/b.rules", "target site { rewrit", SITE, "rules/b.rules:1:15"),
        ("rules/b.rules", 'target site { rewrite `(` -> "/" }', SITE, "rules/b.rules:1:"),
        ("rules/b.rules", b"\xff", SITE, "rules/b.rules"),
        ("rules/b.rules", "target sit {}", CONFIGURED, "the configuration knows no target `sit`"),
        ("proxy.yaml", "targets: {site: {bukket: {}}}", CONFIGURED, "proxy.yaml:1:"),
        ("proxy.yaml", b"\xff", CONFIGURED, "proxy.yaml:1:1"),
    ],
)
def test_files_with_errors_are_a_finding(explain, files, name, text, words, expected):
    """What is wrong with a rule file or the configuration is shown with its place, and the status is 1."""
    (files / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    status, printed, errors = explain("/x", *words)
    assert (status, printed) == (1, "")
    assert expected in errors


def test_the_only_target_need_not_be_named(explain, files):
    """Where the rules are those of one target, they are asked."""
    (files / "one.rules").write_text('target site { rewrite one `^/a$` -> "/b" }')
    status, printed, _ = explain("/a", "--rules", "one.rules")
    assert (status, "one" in printed) == (0, True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["/x"], "give `--rules` or `--config`"),
        (["/x", "--rules", "rules"], "give `--target` or `--config`: the targets are `site`, `other`"),
        (["/x", "--rules", "rules", "--target", "sit"], "there is no target `sit`; did you mean `site`?"),
        (["/x", "--rules", "rules", "--target", "zzz"], "there is no target `zzz`\n"),
        (["/x", *CONFIGURED, "--target", "sit"], "there is no target `sit`; did you mean `site`?"),
        (["/x", *CONFIGURED, "--prefix", "p"], "`--prefix` cannot be used with `--config`"),
        (["/x", "--rules", "nothing", "--target", "site"], "there is no `nothing`"),
        (["/x", "--config", "nothing.yaml"], "nothing.yaml"),
        (["/x", *SITE, "--prefix", "a/../b"], "`a/../b`"),
        (["/x", *SITE, "--header", "X-Team"], "`X-Team` is not `NAME:VALUE`"),
        (["/x", *SITE, "--header", ":red"], "`:red` is not `NAME:VALUE`"),
        (["/x", *SITE, "--user", "a/b"], "invalid user name `a/b`: it contains a `/`"),
        (["/x", *SITE, "--method", "POST"], "invalid choice: 'POST'"),
        ([], "PATH"),
    ],
)
def test_what_cannot_be_explained_is_told_apart(explain, words, expected):
    """Usage, files that are not there and unknown targets are status 2, with the reason on standard error."""
    status, printed, errors = explain(*words)
    assert (status, printed) == (2, "")
    assert expected in errors


def _modules_after(*words):
    """The heavy modules that the command imported, in a process of its own."""
    heavy = ["tornado", "asyncio", "boto3", "botocore", "jinja2", "pydantic", "yaml", "watchdog"]
    script = (
        "import sys; from tornado_proxy.cli.main import main; status = main(sys.argv[1:]);"
        f"print(*[name for name in {heavy} if name in sys.modules], file=sys.stderr); sys.exit(status)"
    )
    command = [sys.executable, "-c", script, "explain", *words]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(result.stderr.split())


def test_plain_rules_need_none_of_the_heavy_libraries(files):
    """Without a configuration and with plain templates, nothing is imported that is not needed."""
    assert _modules_after("/press/a.html", *SITE) == set()


def test_a_configuration_needs_yaml_and_no_server(files):
    """The server's side is imported by no explanation."""
    assert _modules_after("/press/a.html", *CONFIGURED) <= {"yaml", "asyncio"}
