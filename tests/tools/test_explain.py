from __future__ import annotations

import json

import pytest
from report_schemas import check_report
from rule_sites import read_request_log, requests, site

from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, PutAction
from tornado_proxy.config.model import Bucket, Mount, Target
from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.decide import simulate
from tornado_proxy.routing.mounts import Mounts, Site
from tornado_proxy.routing.request import read_request
from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.rules.loading import compile_documents
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.rules.parser import parse
from tornado_proxy.semantics.request import User
from tornado_proxy.tools.explain import (
    NearMiss,
    count_usage,
    in_words,
    near_miss,
    sections,
    to_json,
    to_text,
    usage_json,
)
from tornado_proxy.tools.simulator import LoggedRequest, RequestDefaults, Simulator

RULES = r"""target site {
    rewrite `^/old/` -> "/older$0"
    rewrite press `^/press/(?P<page>[^/]+)\.(html?)(\?)?$` -> "/archive/press/$page.html"
    rewrite `^/(x?)empty$` -> "$1"
    rewrite `^/dots$` -> "/../up"
    rewrite `^/` -> "/rest/"
    rewrite `^/z` -> "/never"
}
"""
ANN = BasicUser("ann", Secret("value", "secret"))


def _trace(request, rules=RULES, user=None, file_name=None, **target):
    compiled = compile_documents([parse(SourceFile("site.rules", rules)).document])
    target = Target("site", **({"mount": Mount(), "bucket": Bucket("files", "folder1/")} | target))
    site = Site(target, compiled.rule_sets.get("site", RuleSet("site")))
    method, path = request.split()
    request = read_request(path, method, "www.example.com")
    return simulate(Mounts([site]), request, user and User(user), file_name)


def _text(*arguments, configured=False, user=None, **options):
    signed_in = user and User(user)
    return to_text(_trace(*arguments, user=user, **options), configured=configured, user=signed_in)


OUTCOMES = [
    (
        ["GET /x"],
        {"mount": Mount("", ("/m/",))},
        ["plan        refuse  404 Not Found: no target is mounted at this host and path"],
    ),
    (["PUT /"], {}, ["plan        refuse  405 Method Not Allowed: the method `PUT` is not enabled"]),
    (
        ["GET /a?q", "target site { gone `^/b` redirect 308 `^/a` -> `/c` }"],
        {},
        ["            ✓  #2  ^/a  matched   site.rules:1:26", "plan        redirect  308 /c?q"],
    ),
    (
        ["GET /b", "target site { gone `^/b` }"],
        {},
        ["groups      $0  /b", "plan        refuse  410 Gone: the rules call the address gone"],
    ),
    (["GET /a", ""], {}, ["rewrites    none", "result      unchanged", "object key  folder1/a"]),
    (
        ["GET /empty"],
        {},
        ["            $1  (empty)", "result      (empty)", "error       400 Bad Request: the result is empty"],
    ),
    (
        ["GET /dots"],
        {},
        ["result      /../up", "error       400 Bad Request: the result contains a `.` or `..` segment"],
    ),
    (["GET /"], {}, ["object key  folder1/rest/", "plan        browse  folder1/rest/, even if it is empty"]),
    (["GET /", ""], {"bucket": Bucket("b")}, ["object key  (the whole bucket)"]),
    (
        ["GET /a/", ""],
        {},
        ["plan        browse  folder1/a/", "            refuse  404 Not Found: no objects below this key"],
    ),
    (["GET /m", ""], {"mount": Mount("", ("/m/",))}, ["plan        redirect  302 /m/"]),
    (
        ["GET /a", ""],
        {"actions": Actions(get=GetAction(redirect_to_signed_url=True, signed_url_expiration=60))},
        ["plan        sign    folder1/a, for 60 seconds"],
    ),
    (["DELETE /a", ""], {"actions": Actions(delete=DeleteAction(enabled=True))}, ["plan        remove  folder1/a"]),
    (
        ["PUT /d/", ""],
        {"actions": Actions(put=PutAction(enabled=True))},
        ["plan        read form  the rest depends on the file's name, which `--file-name` gives"],
    ),
    (
        ["PUT /d/", ""],
        {"actions": Actions(put=PutAction(enabled=True)), "file_name": "a b.txt"},
        ["key         /d/a b.txt", "plan        receive  folder1/d/a b.txt, available at /d/a%20b.txt"],
    ),
]


def test_a_list_is_a_rule(tmp_path, monkeypatch):
    """A line that takes the key has its place, a list that does not has no near miss; programs learn the same."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.txt").write_text("/a /b\n")
    rules = "target site { redirects `m.txt` rewrite `^/c` -> `/d` }"
    assert "rewrites    ✓  m.txt  m.txt  matched  m.txt:1:1" in _text("GET /a", rules)
    assert "rewrites    ·  m.txt  m.txt  no match  site.rules:1:15" in _text("GET /c", rules)
    matched, not_tried = to_json(_trace("GET /a", rules))["rewriting"]["rewrites"]
    expected = ("matched", "redirect", {"file": "m.txt", "line": 1, "column": 1})
    assert (matched["outcome"], matched["kind"], matched["place"]) == expected
    assert not_tried["outcome"] == "not tried"


@pytest.mark.parametrize(("arguments", "options", "lines"), OUTCOMES)
def test_every_attempt_is_explained(arguments, options, lines):
    """Each attempt, and each reason that ends a request, has a line of its own."""
    printed = _text(*arguments, **options).splitlines()
    assert [line for line in lines if line not in printed] == []


@pytest.mark.parametrize(
    ("user", "resources", "lines"),
    [
        (None, (), ["access      /a  anyone"]),
        ("ann", (), ["access      /a  anyone", "            no sign-in is required, so templates do not see the user `ann`"]),
        (None, (Resource("/b", white_list=True),), ["access      /a  nobody"]),
        (None, (Resource("/*"),), ["access      /a  nobody  by `/*`"]),
        (None, (Resource("/*", white_list=True),), ["access      /a  anyone  by `/*`"]),
        (
            "eve",
            (Resource("/*", provider="staff", users=(ANN,)),),
            ["access      /a  users of `staff`  by `/*`", "plan        refuse  401 Unauthorized: `eve` is not listed"],
        ),
    ],
)  # fmt: skip
def test_access_is_reported_with_the_resource_that_decides(user, resources, lines):
    """The text has who may pass, the deciding resource, and why a given user is not used."""
    printed = _text("GET /a", configured=True, user=user, resources=resources).splitlines()
    assert [line for line in lines if line not in printed] == []


def test_a_long_source_widens_no_column():
    """Only the row of the long expression is shifted."""
    rules = f'target site {{ rewrite `^/{"a" * 70}` -> "/1"\n rewrite `^/b` -> "/2" }}'
    printed = _text("GET /b", rules).splitlines()
    assert "            ✓  #2  ^/b  matched   site.rules:2:2" in printed


def test_control_characters_in_an_explanation_are_replaced():
    """Printable symbols replace the control characters of a rule file or a request."""
    text = _text("GET /%E2%80%AEb", 'target site { rewrite `a\nb` -> "/1" }')
    assert "\u202e" not in text
    assert text.startswith("GET /\N{REPLACEMENT CHARACTER}b\n")
    assert "a\N{SYMBOL FOR LINE FEED}b" in text


def test_the_json_report_has_errors_and_guards():
    """An error has its status, a guard has its provider and the globs that cover the path; secrets are omitted."""
    staff = Resource("/**", provider="staff", users=(ANN,))
    report = to_json(_trace("GET /dots", user="ann", resources=(staff,)))
    assert report["rewriting"]["error"] == {"status": 400, "message": "the result contains a `.` or `..` segment"}
    assert report["access"] == [{"path": "/dots", "guard": "users", "provider": "staff", "resources": ["/**"]}]
    assert report["request"]["user"] == "ann"
    assert "secret" not in json.dumps(report)


def test_the_json_report_of_a_request_without_a_target_has_null_steps():
    report = to_json(_trace("GET /x", mount=Mount("", ("/m/",))))
    assert (report["target"], report["access"], report["rewriting"]) == (None, [], None)
    assert report["plan"][0]["status"] == 404


@pytest.mark.parametrize(("arguments", "options", "lines"), OUTCOMES)
def test_the_json_report_obeys_its_schema(arguments, options, lines):
    """The published schema describes the report of every end of a request."""
    check_report(to_json(_trace(*arguments, **options)), "explain")


@pytest.mark.parametrize(
    ("source", "key", "expected"),
    [
        (r"^/old/", "/press/x", "`^/` matches up to `/`, then `o` meets `press/x`"),
        (r"^/(?P<page>[^/]+)\.html$", "/a.htm", "`^/(?P<page>[^/]+)\\.htm` matches up to `/a.htm`, then `l` meets the end of the key"),
        (r"^docs/", "/docs/a", "`^` matches, then `d` meets `/docs/a`"),
        (r"never", "/press", "`n` does not occur in the key"),
        (r"/a$", "/a/b", "`/a` matches up to `/a`, then `$` meets `/b`"),
        (r"^/(?:x|y)/1|^/z", "/y/2", "`^/(?:x|y)/` matches up to `/y/`, then `1` meets `2`"),
    ],
)  # fmt: skip
def test_a_near_miss_has_the_longest_matching_part_of_a_source(source, key, expected):
    """The text has the part that matches, the end of its match, and the part that doesn't match the rest."""
    miss = near_miss(source, key)
    assert in_words(miss) == expected


def test_a_source_that_matches_is_no_near_miss():
    assert near_miss(r"^/a", "/abc") is None


def test_long_texts_of_a_near_miss_are_shortened():
    """A long source keeps its end and a long key its beginning, next to where the match stops."""
    miss = NearMiss("^/" + "a" * 80, "/" + "a" * 80, "b", "c" * 80)
    assert in_words(miss) == f"`…{'a' * 40}` matches up to `…{'a' * 40}`, then `b` meets `{'c' * 40}…`"


def _many_rewrites(count):
    return "target site {\n" + "".join(f"rewrite `^/{number}$` -> `/x`\n" for number in range(count)) + "}"


def test_of_many_rewrites_the_nearest_are_shown():
    """They take most of the key; how many others there are is said."""
    parts = dict(sections(_trace("GET /91x", rules=_many_rewrites(1000))))
    rows = [row[1] for row in parts["rewrites"] if row[1]]
    assert rows == ["#92", "#911", "#912", "#913", "#914", "995 more, no match"]


def test_of_many_rewrites_the_one_that_matched_is_shown_with_the_nearest_before_it():
    parts = dict(sections(_trace("GET /90", rules=_many_rewrites(100))))
    rows = [row[1] for row in parts["rewrites"] if row[1]]
    assert rows == ["#1", "#2", "#3", "#4", "#10", "#91", "85 more before these, no match", "9 more, not tried"]


def test_the_json_report_of_many_rewrites_has_the_nearest():
    """It says how many it leaves out, and obeys its schema."""
    report = to_json(_trace("GET /91x", rules=_many_rewrites(1000)))
    assert [each["number"] for each in report["rewriting"]["rewrites"]] == [92, 911, 912, 913, 914]
    assert report["rewriting"]["unshown"] == {"no_match": 995, "not_tried": 0}
    check_report(report, "explain")


def test_the_service_itself_answers_paths_of_its_page_files():
    """The service has its page files below any directory, and other names there are requests for objects."""
    assert _text("GET /a/.tornado-proxy/style.css").splitlines()[2:4] == [
        "service     answers this itself if `style.css` is a file of its pages; the rest is for other names",
        "target      site",
    ]
    assert to_json(_trace("HEAD /.tornado-proxy/style.css"))["asset"] == "style.css"


def test_the_service_answers_only_reads_of_its_page_files():
    """An upload below the directory of these files is refused, as its plan shows."""
    explained = _trace("PUT /.tornado-proxy/style.css", actions=Actions(put=PutAction(enabled=True)))
    assert to_json(explained)["asset"] is None


COUNTED_RULES = r"""
    rewrite `^/old/` -> "/new"
    rewrite `^/dots$` -> "/../x"
"""


def test_a_failing_rewrite_counts_as_used_and_as_an_error():
    """The rewrite matched and the client got an error, with the path as the example."""
    simulator = Simulator(Mounts([site(COUNTED_RULES)]), RequestDefaults())
    usage = count_usage(simulator, requests("/dots", "/dots"), top=10)
    error = (400, "the result contains a `.` or `..` segment")
    assert usage.rewrites == {("site", 2): 2}
    assert usage.errors == {error: 2}
    assert usage.examples == {error: "/dots"}


def test_a_path_that_the_service_could_not_decode_is_refused(tmp_path):
    """It had no target when it was logged, and has no target when it is simulated."""
    log = tmp_path / "access.log"
    log.write_text("method=GET path=/%zz status=400 sent=9\nmethod=GET path=/a%0ab status=400 sent=9\n")
    usage = count_usage(Simulator(Mounts([site(COUNTED_RULES)]), RequestDefaults()), read_request_log(log), top=10)
    assert usage.rewrites == {}
    assert [status for status, _ in usage.errors] == [400, 400]


USED_RULES = r"""
    rewrite press `^/press/` -> "/archive/all.html"
    rewrite `^/never$` -> "/x"
    rewrite `^/dots$` -> "/../x"
"""


def test_the_json_of_usage_obeys_its_schema():
    """`docs/schemas/requests.json` describes the whole report."""
    log = requests("/press/a", "/dots", "/else")
    log.requests[LoggedRequest("/up/", "PUT")] = 2
    log.strange, log.first_strange = 1, 7
    report = usage_json(count_usage(Simulator(Mounts([site(USED_RULES)]), RequestDefaults()), log, top=10))
    check_report(report, "requests")
    assert [rewrite["requests"] for rewrite in report["targets"][0]["rewrites"]] == [1, 0, 1]
