import pytest
from linting import block, findings, loaded, marked_texts, rule_files, settings, subject

from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import LintSettings, fix_all, lint
from tornado_proxy.lint.subject import subject_of
from tornado_proxy.rules.diagnostic import Safety, Severity
from tornado_proxy.rules.loading import RuleFile

REDIRECT_LOOP = "redirect-loop"
REDIRECT_CHAIN = "redirect-chain"
REDIRECT_TO_GONE = "redirect-to-gone"
SHADOWED_LINE = "shadowed-line"
DOUBLE_LINE = "double-line"

LIST = 'redirects "moved.txt"'
ISOLATED = "actions: {GET: {config: {userIsolation: true}}}, resources: [{path: /**, whiteList: true}]"
MOUNTED = """targets:
  site: {{mount: {{host: {host}, path: [/site/]}}, bucket: {{name: files, region: eu-west-1}}{more}}}
  help: {{mount: {{path: [/site/help/]}}, bucket: {{name: help, region: eu-west-1}}}}
"""


def messages(check: str, statements: str, listed: str = "", configuration: str = "") -> list[str]:
    """The messages of the findings of a check in one block with a list."""
    configured = settings(configuration) if configuration else None
    return [each.message for each in findings(check, statements, configured, {"moved.txt": listed})]


def listed_fix(statements: str, listed: str) -> str:
    """The list after all fixes of a block."""

    def look(files):
        lists = {file.name: file.data.decode() for file in files[1:]}
        return lint(subject_of(loaded(files[:1], lists)), CHECKS)

    files = [*rule_files(site=block(statements)), RuleFile("moved.txt", listed.encode())]
    return fix_all(files, look, {Safety.SAFE, Safety.UNSAFE}).files[1].data.decode()


@pytest.mark.parametrize(
    ("statements", "listed"),
    [
        ("redirect `^/a$` -> `/a`", ""),
        ("redirect `^/a$` -> `/a?x=1#y`", ""),  # rules see no query
        ("redirect if missing `^/(?P<page>.*)$` -> `/$page`", ""),
        ("redirect `^/a$` -> jinja `/a?{{ 'x' }}=1`", ""),
        (LIST, "/a /a"),
        (LIST, "/caf%C3%A9 /café"),
        ('redirects "moved.txt" ignoring case', "/FAQ /faq"),
        ('redirects if missing "moved.txt"', "/a /a#top"),
    ],
)
def test_an_address_that_leads_to_itself_is_an_error(statements, listed):
    """Whatever its query and its fragment, and even where nothing is there."""
    (finding,) = findings(REDIRECT_LOOP, statements, lists={"moved.txt": listed})
    assert "is redirected to itself" in finding.message
    assert finding.severity is Severity.ERROR


def test_a_round_is_shown_with_its_addresses():
    """Lines and statements may lead to one another, and a fragment of the round is reported once."""
    (finding,) = findings(REDIRECT_LOOP, f"{LIST}\nredirect back `^/b$` -> `/c`", lists={"moved.txt": "/a /b\n/c /a\n"})
    assert finding.message == "redirects lead round: `/a` -> `/b` -> `/c` -> `/a`"
    assert [note.message for note in finding.notes] == ["`back` takes `/b`", "`moved.txt` takes `/c`"]
    assert (finding.span.text, finding.span.source.name) == ("/b", "moved.txt")


def test_a_long_round_is_cut():
    """Three addresses are enough to find the others."""
    statements = "\n".join(f"redirect `^/{one}$` -> `/{other}`" for one, other in ("ab", "bc", "cd", "da"))
    assert messages(REDIRECT_LOOP, statements) == ["redirects lead round: `/a` -> `/b` -> `/c` -> … -> `/a`"]


def test_what_leads_into_a_round_has_no_finding():
    """The round is what must be mended, and it is one finding."""
    statements = "redirect `^/x$` -> `/a`\nredirect `^/a$` -> `/b`\nredirect `^/b$` -> `/a`"
    assert marked_texts(REDIRECT_LOOP, statements) == ["`/b`"]
    assert marked_texts(REDIRECT_CHAIN, statements) == []


@pytest.mark.parametrize(
    "statements",
    [
        "redirect `^/(?P<page>.*)$` -> `/archive/$page`",
        "redirect `^/x$` -> `/a`\nredirect `^/(?P<page>a*)$` -> `/a$page`",
    ],
)
def test_redirects_that_lead_on_without_end_are_an_error(statements):
    """Each address is another one, and browsers give up in the end."""
    (message,) = messages(REDIRECT_LOOP, statements)
    assert message.startswith("redirects lead on without end: `/")


def test_more_lines_than_browsers_follow_are_an_error():
    """Browsers give up after twenty, even where the end is near."""
    listed = "\n".join(f"/{number} /{number + 1}" for number in range(21))
    (message,) = messages(REDIRECT_LOOP, LIST, listed)
    assert message == "redirects lead on without end: `/0` -> `/1` -> `/2` -> …"


def test_a_round_that_no_example_shows_is_found_by_proof():
    """What the results of one redirect share with the source of another is followed, too."""
    statements = "redirect `^/(?P<x>a|bb)$` -> `/c/$x`\nredirect `^/c/(?P<x>d|bb)$` -> `/$1`"
    assert messages(REDIRECT_LOOP, statements) == ["redirects lead round: `/c/bb` -> `/bb` -> `/c/bb`"]


@pytest.mark.parametrize(
    ("statements", "listed"),
    [
        ("redirect `^/(a|bb)$` -> `/c/$1?x=$1`\nredirect `^/c/(d|bb)$` -> `/c`", ""),
        ("redirect `^/(a|bb)$` -> `x$1`\nredirect `^/c/(d|bb)$` -> `/$nope`", ""),
        ("redirect `^/a$` -> `/b`\nrewrite `^/b$` -> `/a`", ""),  # which is served
        ("redirect `^/a$` -> `https://example.com/a`", ""),
        ("redirect `^/a$` -> jinja `{% if request.query.x %}/b{% else %}/a?x=1{% endif %}`", ""),
        ("redirect `^/a$` -> jinja `/{{ request.headers.x }}`", ""),
        ("redirect `^/a$` -> `/b`\nredirect if missing `^/b$` -> `/a`", ""),  # which has moved back
        ('redirects if missing "moved.txt"', "/a /b\n/b /a"),
        ('rewrites "moved.txt"', "/a /a"),
    ],
)
def test_redirects_that_end_have_no_finding(statements, listed):
    """Only a request without a query that would not end is shown; of two single addresses, one may be there."""
    assert messages(REDIRECT_LOOP, statements, listed) == []


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (
            "redirect if missing `^/([^.]+)$` -> `/$1.html`\nredirect if missing `^/([^.]+)\\.html$` -> `/$1`",
            "redirects lead round, where nothing is there: `/a` -> `/a.html` -> `/a`",
        ),
        (
            "redirect if missing `^/(?P<page>.*)$` -> `/old/$page`",
            "redirects lead on without end, where nothing is there: `/` -> `/old/` -> `/old/old/` -> …",
        ),
    ],
)
def test_a_loop_of_many_missing_addresses_is_a_warning(statements, message):
    """Most addresses name nothing, so a client that asks for one would get no 404."""
    (finding,) = findings(REDIRECT_LOOP, statements)
    assert (finding.message, finding.severity) == (message, Severity.WARNING)


@pytest.mark.parametrize(
    ("location", "host", "more", "loops"),
    [
        ("https://example.com/site/a", "example.com", "", True),
        ("https://EXAMPLE.com/site/a", "example.com", "", True),
        ("https://example.com/a", "example.com", "", False),
        ("https://example.com:8443/site/a", "example.com", "", False),
        ("https://example.com/site/a", '""', "", False),
        ("/a", '""', "", True),
        ("/a", '""', f", {ISOLATED}", False),
        ("/help/a", '""', "", False),
        ("/help", '""', "", False),
    ],
)
def test_a_configuration_tells_what_is_the_target_itself(location, host, more, loops):
    """Its own host is, a path of another target is not; where users are isolated, rules see other keys."""
    statements = f"redirect `^(?:/help)?(?:/a)?$` -> `{location}`"
    found = messages(REDIRECT_LOOP, statements, configuration=MOUNTED.format(host=host, more=more))
    assert bool(found) == loops


def test_a_chain_names_the_last_address():
    """One finding for each line, with a fix that leads there at once."""
    listed = "/a /b 301\n/b\t/c 301  # here\n/c https://example.com/?x=1 301\n"
    assert messages(REDIRECT_CHAIN, LIST, listed) == [
        "`/a` is redirected to `/b`, which is redirected to `https://example.com/?x=1`",
        "`/b` is redirected to `/c`, which is redirected to `https://example.com/?x=1`",
    ]
    assert listed_fix(LIST, listed) == (
        "/a https://example.com/?x=1 301\n/b\thttps://example.com/?x=1 301  # here\n/c https://example.com/?x=1 301\n"
    )


@pytest.mark.parametrize(
    ("statements", "listed"),
    [
        (f"{LIST}\nredirect 301 `^/b$` -> `/c`", "/a /b 302"),
        (f"{LIST}\nredirect `^/b$` -> `/c` without query", "/a /b"),
        (LIST, "/a /b?x=1\n/b /c"),
        ("redirect `^/a$` -> `/b`\nredirect `^/b$` -> `/c`", ""),
    ],
)
def test_a_chain_whose_hops_differ_has_no_fix(statements, listed):
    """One redirect would not do what they do together; a template is not a place to write an address into."""
    (finding,) = findings(REDIRECT_CHAIN, statements, lists={"moved.txt": listed})
    assert (finding.severity, finding.fixes) == (Severity.INFO, ())


def test_a_redirect_has_one_finding_for_all_its_tests():
    """The example and the keys of tests lead on in the same way."""
    chain = "redirect `^/a/(.*)$` -> `/b/$1`\nredirect `^/b/(.*)$` -> `/c/$1`\ntest `/a/x` -> redirect `/b/x`"
    assert marked_texts(REDIRECT_CHAIN, chain) == ["`/b/$1`"]


@pytest.mark.parametrize(
    "statements",
    [
        "redirect `^/a$` -> `/b`\nredirect if missing `^/b$` -> `/c`",
        "redirect `^/a$` -> `/b`\nrewrite `^/b$` -> `/c`",
        "redirect `^a$` -> `/b`\nredirect `^/b$` -> `/c`",  # no key reaches it
    ],
)
def test_an_address_that_may_be_there_ends_a_chain(statements):
    """A page that is served ends it, and so may one that came back."""
    assert messages(REDIRECT_CHAIN, statements) == []


def test_a_redirect_to_what_is_gone_is_reported():
    """It is a warning at the redirect, however many hops there are, and no chain."""
    statements = f"{LIST}\nredirect if missing `^/b$` -> `/2009/b`\ngone press `^/2009/`"
    listed = {"moved.txt": "/a /2009/a\n/c /a\n/d /b\n/e /f"}
    found = findings(REDIRECT_TO_GONE, statements, lists=listed)
    assert [each.message for each in found] == [
        "`/b` is redirected to `/2009/b`, which is gone",
        "`/a` is redirected to `/2009/a`, which is gone",
        "`/c` is redirected to `/2009/a`, which is gone",
    ]
    assert [note.message for note in found[0].notes] == ["`press` is here"]
    assert findings(REDIRECT_CHAIN, statements, lists=listed) == []


def test_a_shadowed_line_is_reported_at_the_statement():
    """With the lines, and a fix that moves the list."""
    statements = f"    redirect wide `^/a/` -> `/x`\n    {LIST}\n"
    (finding,) = findings(SHADOWED_LINE, statements, lists={"moved.txt": "/b /y\n/a/1 /y\n/a/2 /y\n"})
    assert finding.message == "`wide` comes first and takes 2 addresses of this list, such as `/a/1`"
    assert [note.span.text for note in finding.notes if note.span] == ["/a/1 /y", "/a/2 /y"]
    assert finding.span.text == '"moved.txt"'
    assert [fix.message for fix in finding.fixes] == ["move the list above `wide`"]


def test_lists_shadow_lists():
    """The first list of an address counts; a list that several statements shadow has no fix."""
    statements = f'{LIST}\ngone `^/c$`\nredirects "more.txt"'
    lists = {"moved.txt": "/a /x\n", "more.txt": "/a /y\n/c /y\n"}
    (finding,) = findings(SHADOWED_LINE, statements, lists=lists)
    assert finding.message == "`moved.txt` and `#2` come first and take every address of this list, such as `/a`"
    assert finding.fixes == ()


@pytest.mark.parametrize(("source", "count"), [("(?i)^/a$", 1), ("^/a$", 0), ("^/A$", 0), ("^/b$", 0), ("^/[aA]$", 1)])
def test_a_line_in_any_case_is_shadowed_in_every_case(source, count):
    """A source that takes one form of the address leaves the others."""
    assert len(messages(SHADOWED_LINE, f"gone `{source}`\n{LIST} ignoring case", "/A /x")) == count


def test_a_double_line_is_reported():
    """The first line counts; the note is at it."""
    (finding,) = findings(DOUBLE_LINE, LIST, lists={"moved.txt": "# old\n/a /b\n\n/a /c 301\n"})
    assert finding.message == "`/a` stands in line 2 already, which counts"
    assert (finding.span.text, finding.notes[0].span and finding.notes[0].span.text) == ("/a /c 301", "/a /b")


@pytest.mark.parametrize(
    ("statements", "listed", "safety"),
    [
        (LIST, "/a /b\n/a\t/b\n", Safety.SAFE),
        (f"{LIST} ignoring case", "/a /b\n/A /b\n", Safety.SAFE),
        (LIST, "/a /b\n/a /c\n", Safety.UNSAFE),
        (LIST, "/a /b\n/a /b # why\n", Safety.UNSAFE),
        (f"{LIST}\n{LIST}", "/a /b\n/a /b\n", Safety.UNSAFE),
    ],
)
def test_the_fix_deletes_a_double_line(statements, listed, safety):
    """Safe if nothing is lost, and no other statement reads the line otherwise."""
    found = findings(DOUBLE_LINE, statements, lists={"moved.txt": listed})
    assert [fix.safety for each in found for fix in each.fixes] == [safety]
    assert listed_fix(statements, listed) == "/a /b\n"


def test_an_allowance_at_the_statement_is_for_all_lines():
    """A list has no allowances of its own."""
    text = f'# allow: double-line\n{LIST}\nredirects "more.txt"'
    checked = subject(text, lists={"moved.txt": "/a /a\n/a /b\n", "more.txt": "/b /c\n/b /c"})
    report = lint(checked, CHECKS, LintSettings(frozenset({DOUBLE_LINE, REDIRECT_LOOP, "unused-allowance"})))
    expected = [(REDIRECT_LOOP, "moved.txt"), (DOUBLE_LINE, "more.txt")]
    assert [(each.code, each.span and each.span.source.name) for each in report.diagnostics] == expected
