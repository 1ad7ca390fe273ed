import argparse
import gzip
import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from command_lines import imported_by
from rule_sites import rule_sets

from tornado_proxy.cli.main import main
from tornado_proxy.cli.output import CommandError, ExitStatus
from tornado_proxy.cli.requests import add_request_arguments, bare_site, request_defaults, requests_of, signed_in_user
from tornado_proxy.routing.access import Anyone, SignedIn
from tornado_proxy.routing.request import RequestPath
from tornado_proxy.templates.template import User

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


def test_a_missing_user_is_reported(explain, files):
    """A template that reads the user without one gives a 403, and the message names the rewrite."""
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
        ("rules/b.rules", "target sit {}", CONFIGURED, "the configuration has no target `sit`"),
        ("proxy.yaml", "targets: {site: {bukket: {}}}", CONFIGURED, "proxy.yaml:1:"),
        ("proxy.yaml", b"\xff", CONFIGURED, "proxy.yaml:1:1"),
    ],
)
def test_files_with_errors_are_a_finding(explain, files, name, text, words, expected):
    """A mistake in a rule file or the configuration is shown with its place, and the status is 1."""
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
        (["/x", "--rules", "rules", "--target", "sit"], "unknown target `sit`; did you mean `site`?"),
        (["/x", "--rules", "rules", "--target", "zzz"], "unknown target `zzz`\n"),
        (["/x", *CONFIGURED, "--target", "sit"], "unknown target `sit`; did you mean `site`?"),
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
def test_what_cannot_be_explained_is_distinguished(explain, words, expected):
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


OLD = 'target site {\n    rewrite `^/a/(.*)$` -> "/one/$1"\n}\n'
NEW = 'target site {\n    rewrite `^/a/(.*)$` -> "/two/$1"\n}\n'
QUERY = 'target site {\n    rewrite `^/a/` -> jinja "/{{ request.query.v }}"\n}\n'


@pytest.fixture
def sides(command):
    """Rules before and now, and a log."""
    Path("old.rules").write_text(OLD)
    Path("new.rules").write_text(NEW)
    Path("paths").write_text("/a/x?v=1\n/a/x?v=2\n/b\n")
    return ("diff", "old.rules", "new.rules", "--requests", "paths")


def test_requests_that_differ_by_their_query_are_one(command, sides):
    """Where no template can read it."""
    assert command(*sides).out.startswith("key changed: 2 of 3 requests, 1 of 2 distinct\n")


def test_a_template_that_may_read_the_query_distinguishes_them(command, sides):
    """Each query may make another key."""
    Path("new.rules").write_text(QUERY)
    done = command(*sides)
    assert done.out.startswith("key changed: 2 of 3 requests, 2 of 3 distinct\n")
    assert "  /a/x?v=1\n  - /one/x\n  + /1\n" in done.out


def test_a_go_template_may_always_read_it(command, sides):
    """Its data can be read as a whole."""
    Path("new.rules").write_text(OLD.replace('"/one/$1"', 'go "/{{ .Key }}"'))
    assert "2 of 3 distinct" in command(*sides).out


def test_json_shows_the_same(command, sides):
    """With the status of the text."""
    done = command(*sides, "--format", "json")
    assert done.status == 1
    assert json.loads(done.out)["changed"] == {"total": 2, "different": 1}


@pytest.mark.parametrize("format", ["text", "json", "markdown"])
def test_the_same_rules_are_status_0(command, sides, format):
    """In every form."""
    assert command("diff", "old.rules", "old.rules", "--requests", "paths", "--format", format).status == 0


def test_a_compressed_log_is_read(command, sides):
    """As it is rotated."""
    Path("paths").write_bytes(gzip.compress(b"/a/x\n"))
    assert command(*sides).status == 1


def test_a_target_that_one_side_lacks_has_no_rules_there(command, sides):
    """A new target changes what its rewrites take."""
    Path("old.rules").write_text("target other {}\n")
    done = command(*sides, "--target", "site")
    assert "site: no rewrite → #1 (new.rules:2:5)" in done.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "sit"], "unknown target `sit`; did you mean `site`?"),
        (["--target", "site", "--config", "x"], "not allowed with argument"),
        (["--examples", "some"], "`some` is not a whole number of at least 0"),
        (["--user", "a/b"], "invalid user name `a/b`"),
        (["--config", "nothing.yaml"], "nothing.yaml"),
        (["--requests", "nothing"], "`nothing` cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_compared_is_distinguished(command, sides, words, message):
    """Usage and files that are not there are status 2."""
    done = command(*sides, *words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_rules_without_targets_cannot_be_compared(command, sides):
    """There is nothing to ask."""
    Path("old.rules").write_text("")
    Path("new.rules").write_text("")
    assert "the files have no target" in command(*sides).err


def test_comparing_imports_no_server(sides):
    """Plain rules need nothing else."""
    assert imported_by(*sides) == set()


def test_many_requests_are_compared_by_several_processes(command, sides):
    """With the same result."""
    Path("paths").write_text("".join(f"/a/{number}\n" for number in range(21_000)))
    assert command(*sides, "--examples", "0").out.splitlines() == [
        "key changed: 21,000 of 21,000 requests, 21,000 of 21,000 distinct",
        "",
        "site: #1 (old.rules:2:5) → #1 (new.rules:2:5): 21,000 requests",
        "  and 21,000 more",
    ]


def test_a_bare_site_is_open_unless_somebody_signs_in():
    """Whoever is named passes, and is seen by templates."""
    rules = rule_sets("target site {}")["site"]
    path = RequestPath("/x")
    assert bare_site("site", rules).access.guard(path, "PUT") == Anyone()
    guard = bare_site("site", rules, "ann").access.guard(path, "DELETE")
    assert isinstance(guard, SignedIn)
    assert guard.find("ann")


def _parsed(*words):
    parser = argparse.ArgumentParser()
    add_request_arguments(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize(
    ("words", "user"),
    [
        ([], None),
        (["--user", "ann"], User("ann")),
        (["--user", "ann", "--user-groups", "a, b,"], User("ann", "HEADER", "", ("a", "b"))),
        (["--user", "ann", "--email", "a@example.com"], User("ann", "HEADER", "a@example.com")),
    ],
)
def test_a_user_is_described_as_in_a_test(words, user):
    """Groups and an address make one of a header."""
    assert signed_in_user(_parsed(*words)) == user


def test_what_is_declared_for_all_requests_has_host_and_headers():
    """The host as it was given, headers in their order."""
    given = request_defaults(_parsed("--host", "WWW.example.com:80", "--header", "A: 1", "--header", "A:2"))
    assert (given.user, given.host, given.headers) == (None, "WWW.example.com:80", (("A", "1"), ("A", "2")))


@pytest.mark.parametrize(
    ("template", "different"),
    [
        ('"/$1"', 1),
        ('jinja "/{{ user.username }}"', 1),
        ('jinja "/{{ request.method }}"', 2),
        ('go "/x"', 2),
    ],
)
def test_queries_are_kept_where_a_template_might_read_them(tmp_path, template, different):
    """Only then are requests different by them."""
    log = tmp_path / "paths"
    log.write_text("/a?x\n/a?y\n")
    rules = rule_sets(f"target site {{ rewrite `^/(a)$` -> {template} }}")
    assert len(requests_of(log, rules.values()).requests) == different


def test_a_log_that_cannot_be_read_ends_the_command():
    """With status 2, and why."""
    with pytest.raises(CommandError, match="`nowhere` cannot be read: No such file or directory") as ended:
        requests_of(Path("nowhere"), [])
    assert ended.value.status is ExitStatus.FAILED


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--host", "a/b"], "invalid host `a/b`: it contains `/`"),
        (["--user", "a/b"], "invalid user name `a/b`: it contains a `/`"),
    ],
)
def test_what_the_service_refuses_is_refused(capsys, words, reason):
    """A request that the service would refuse is a usage error."""
    with pytest.raises(SystemExit) as ended:
        _parsed(*words)
    assert ended.value.code == ExitStatus.FAILED
    assert reason in capsys.readouterr().err
