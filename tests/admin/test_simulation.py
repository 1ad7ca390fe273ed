"""A draft of a rule file is judged and tried on requests, and nothing of it has an effect."""

import itertools
import tempfile
from pathlib import Path

import pytest
from files import CONFIGURATION, Files
from hypothesis import given
from hypothesis import strategies as st
from in_force import generation_of
from rule_sites import site

from tornado_proxy.admin import simulation
from tornado_proxy.admin.simulation import draft_page, drafted, explained, try_draft
from tornado_proxy.config.actions import Actions, GetAction
from tornado_proxy.config.model import Bucket
from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.compare import KeptRequest
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.routing.plan import Browse, Refuse, Serve
from tornado_proxy.rules.loading import RuleFile

RULES = 'rewrite press `^/press/(?P<page>[a-z]+)$` -> "/old/$page"\ntest "/press/a" -> "/old/a"'


@pytest.fixture
def files(tmp_path):
    """A rule file with a rewrite and its test, and a second file."""
    return Files.create(tmp_path, site=RULES, more='rewrite `^/more$` -> "/x"')


@pytest.fixture
def tried(files):
    """A function that tries statements as a draft of the file, on requests for some keys."""
    in_force = files.load()
    mounts = generation_of(in_force).parts.mounts

    def run(statements, *keys, **options):
        text = f"target site {{\n{statements}\n}}\n"
        kept = [KeptRequest(at, "site", "GET", "", key, key, signed_in=False) for at, key in enumerate(keys)]
        return try_draft(in_force, mounts, RuleFile(str(files.path()), text.encode()), kept, **options)

    return run


def test_requests_that_change_are_counted_and_shown(tried):
    edited = RULES.replace('-> "/old/$page"', '-> "/new/$page"')
    result = tried(edited, "/press/a", "/press/b", "/press/a", "/other")
    assert (result.requests, result.kinds, result.hidden) == (4, {"key": 3, "same": 1}, 0)
    (group,) = result.groups
    assert (group.target, group.old, group.new, group.times) == ("site", "press", "press", 3)
    assert [(each.path, each.times, each.old.text, each.new.text) for each, _ in group.shown] == [
        ("/press/a", 2, "/old/a", "/new/a"),
        ("/press/b", 1, "/old/b", "/new/b"),
    ]
    (_, steps), _ = group.shown
    assert [step.title for step in steps] == ["in force", "draft"]
    assert (("page = ", None), ("a", 1), ("  ", None)) in steps[1].lines


def test_the_edit_and_its_tests_are_shown(tried):
    """A test of the file fails with its place and excerpt; those of other files are not run."""
    result = tried(RULES.replace('-> "/old/$page"', '-> "/new/$page"'))
    assert result.changes == ("target `site`: rewrites changed: `press` (rules/site.rules:2)",)
    assert (result.tests, result.failed) == (1, 1)
    assert "--> rules/site.rules:3:20" in result.failures[0]
    assert result.diagnostics == ()


def test_mistakes_are_drawn_as_on_the_command_line(tried):
    """With place, excerpt, caret and help; no request is decided by a draft that would be refused."""
    result = tried("rewrite `^/(?P<page` -> `/x`", "/press/a")
    assert (result.is_broken, result.kinds) == (True, {})
    assert result.diagnostics[0] == (
        "error[bad-source]: unclosed group name\n"
        " --> rules/site.rules:2:12\n"
        "  |\n"
        "2 | rewrite `^/(?P<page` -> `/x`\n"
        "  |            ^^^^\n"
        "  = help: write `>` where the name ends"
    )


def test_the_linter_speaks_of_the_draft_among_all_files(tried):
    """Its errors come first; what it says of other files alone was so before. The requests are tried all the same."""
    result = tried('rewrite `^/a.html$` -> "/x"\nrewrite `^/more$` -> "/y"', "/press/a")
    codes = [each.partition(":")[0] for each in result.diagnostics]
    assert codes[:2] == ["error[duplicate-rewrite]", "warning[unescaped-dot]"]
    assert not [each for each in result.diagnostics if "site.rules" not in each]
    assert (result.is_broken, result.kinds) == (False, {"key": 1})


def test_the_linter_s_settings_are_those_beside_the_rules(tried, files):
    """As on the command line."""
    (files.folder / "tornado-proxy.toml").write_text('[lint]\nignore = ["all"]\n')
    assert tried('rewrite `^/a.html$` -> "/x"').diagnostics == ()
    (files.folder / "tornado-proxy.toml").write_text("[lint]\nnonsense = 1\n")
    assert tried('rewrite `^/a.html$` -> "/x"').diagnostics != ()


def test_an_unknown_target_is_a_mistake(files):
    in_force = files.load()
    result = try_draft(in_force, (), RuleFile(str(files.path()), b'target sit { rewrite `a` -> "/b" }'), ())
    assert result.is_broken
    assert "did you mean `site`?" in result.diagnostics[0]


def test_what_needs_more_than_was_kept_is_unknown(tried):
    """It is neither the same nor another key."""
    result = tried('rewrite `^/press` -> jinja "/{{ request.query.page }}"', "/press/a")
    assert (result.kinds, result.groups) == ({"unknown": 1}, ())


def test_a_draft_takes_a_limited_time(tried, monkeypatch):
    """The last requests are decided first; those that were not reached are counted as such, like tests."""
    edited = RULES.replace('-> "/old/$page"', '-> "/new/$page"') + '\ntest "/press/b" -> "/old/b"'
    seconds = itertools.count()
    monkeypatch.setattr(simulation, "DRAFT_WITHIN", 1.0)
    result = tried(edited, "/press/a", "/press/b", "/press/c", clock=lambda: float(next(seconds)))
    assert (result.tests, result.all_tests) == (1, 2)
    assert (result.requests, result.kept) == (1, 3)
    assert [each.path for group in result.groups for each, _ in group.shown] == ["/press/c"]


def test_requests_for_another_target_are_left_out(files):
    """Their target may have gone since."""
    in_force = files.load()
    kept = [KeptRequest(1.0, "gone", "GET", "", "/a", "/a", signed_in=False)]
    mounts = generation_of(in_force).parts.mounts
    result = try_draft(in_force, mounts, RuleFile(str(files.path()), b""), kept)
    assert (result.requests, result.kept) == (0, 1)


def test_the_shown_requests_are_limited(tried):
    result = tried("", *(f"/press/{chr(97 + number)}" for number in range(25)))
    assert (result.kinds, len(result.groups[0].shown), result.hidden) == ({"key": 25}, 10, 15)


def test_many_diagnostics_are_limited(tried):
    result = tried("\n".join('rewrite `(` -> "/x"' for _ in range(30)))
    assert (len(result.diagnostics), result.unshown) == (20, 10)


def test_a_large_set_is_not_linted(tried, monkeypatch):
    """It is compiled and tried; the page says what is missing."""
    monkeypatch.setattr(simulation, "MOST_LINTED", 1)
    result = tried('rewrite `^/a.html$` -> "/x"\nrewrite `(` -> "/y"')
    assert (result.is_linted, result.is_broken, len(result.diagnostics)) == (False, True, 1)


def test_nothing_of_a_draft_is_in_force(tried, files):
    """Neither the file nor the rules in force change."""
    before = files.path().read_text()
    assert tried("", "/press/a").kinds == {"key": 1}
    assert tried(RULES, "/press/a").kinds == {"same": 1}
    assert tried(RULES, "/press/a").changes == ()
    assert files.path().read_text() == before


def test_the_page_has_the_file_in_force(files):
    """The files have names below the configuration, and the targets in them; an unknown file is the first one."""
    in_force = files.load()
    files.path().write_text("target site {}")
    page = draft_page(in_force, str(files.path()))
    assert [(each.name, each.targets) for each in page.files] == [
        ("rules/more.rules", ("site",)),
        ("rules/site.rules", ("site",)),
    ]
    assert (page.file.path, page.text, page.most_kept) == (str(files.path()), f"target site {{\n{RULES}\n}}\n", 500)
    assert draft_page(in_force, "/etc/passwd").file.name == "rules/more.rules"


def test_a_configuration_without_rules_has_no_box(tmp_path):
    files = Files.create(tmp_path)
    files.configure(CONFIGURATION.replace("rules: [rules]", "rules: []"))
    page = draft_page(files.load(), "")
    assert (page.text, page.problem) == (None, "The configuration names no rule file.")
    assert drafted(files.load(), Mounts([]), page, "text", ()).result is None


def test_a_draft_has_a_limited_size(files, monkeypatch):
    """Its text comes back, and nothing is compiled; a file in force that is larger has no box."""
    in_force = files.load()
    page = draft_page(in_force, str(files.path()))
    monkeypatch.setattr(simulation, "LARGEST_DRAFT", 200)
    answer = drafted(in_force, Mounts([]), page, "ü" * 101, ())
    assert (answer.text, answer.result, "larger than" in answer.problem) == ("ü" * 101, None, True)
    assert drafted(in_force, Mounts([]), page, "#" * 200, ()).result is not None
    monkeypatch.setattr(simulation, "LARGEST_DRAFT", 10)
    assert draft_page(in_force, str(files.path())).text is None


def test_line_ends_of_a_form_are_those_of_the_file(files):
    """Browsers send CRLF."""
    in_force = files.load()
    page = draft_page(in_force, str(files.path()))
    answer = drafted(in_force, Mounts([]), page, page.text.replace("\n", "\r\n"), ())
    assert answer.text == page.text
    assert answer.result.changes == ()


@given(st.text(max_size=200))
def test_any_text_can_be_tried(text):
    with tempfile.TemporaryDirectory() as folder:
        files = Files.create(Path(folder), site=RULES)
        in_force = files.load()
        kept = [KeptRequest(1.0, "site", "GET", "", "/press/a", "/press/a", signed_in=False)]
        mounts = generation_of(in_force).parts.mounts
        result = try_draft(in_force, mounts, RuleFile(str(files.path()), text.encode()), kept)
    assert result.is_broken or result.requests == 1


PRESS = r'rewrite press `^/press/(?P<page>[^/]+)\.(html)$` -> "/archive/${page}.$2"'
WITHOUT_INDEX = Resource("/d/", white_list=True)
STAFF = Resource("/**", provider="staff", users=(BasicUser("ann", Secret("test", "x")),))


def _steps(statements, path, *, fields=None, **target):
    mounts = Mounts([site(statements, bucket=Bucket("files", prefix="www/"), **target)])
    explanation = explained(mounts, {"path": path, **(fields or {})})
    return {
        step.title: ("".join(text for line in step.lines for text, _ in (*line, ("\n", None))), step.outcome)
        for step in explanation.path
    }


def test_a_request_is_followed_to_its_key():
    assert _steps(PRESS, "/press/spring.html") == {
        "URL": ("GET /press/spring.html\n", ""),
        "target": ("site\nmounted at /\n", ""),
        "access": ("anyone\nnot signed in\n", "good"),
        "rewrite": (
            "press\n^/press/(?P<page>[^/]+)\\.(html)$\n→ /archive/${page}.$2\npage = spring  2 = html  \n",
            "good",
        ),
        "key": ("www/archive/spring.html\n", ""),
    }


def test_groups_have_numbers_wherever_they_stand():
    """A group has its number in the source, in the template, and at its value; the innermost group counts."""
    mounts = Mounts([site('rewrite `^/((a)b)$` -> "/$1/$2"')])
    (step,) = [each for each in explained(mounts, {"path": "/ab"}).path if each.title == "rewrite"]
    _, source, template, groups = step.lines
    assert source == (("^/", None), ("(", 1), ("(a)", 2), ("b)", 1), ("$", None))
    assert template == (("→ ", None), ("/", None), ("$1", 1), ("/", None), ("$2", 2))
    assert [piece for piece in groups if piece[1]] == [("ab", 1), ("a", 2)]


@pytest.mark.parametrize(("statements", "text"), [(PRESS, "none matches\n/other\n"), ("", "none\n/other\n")])
def test_a_key_that_no_rewrite_takes_stays(statements, text):
    assert _steps(statements, "/other")["rewrite"] == (text, "")


def test_a_rewrite_that_fails_is_bad():
    """A result that is refused ends the way."""
    steps = _steps('rewrite `^/(.*)$` -> "/../$1"', "/a")
    assert steps["rewrite"][1] == "bad"
    assert "key" not in steps


def test_what_is_gone_has_no_key():
    """A rule that names no result, even one that takes each address, is shown as it is."""
    steps = _steps("gone ``", "/a")
    assert steps["rewrite"] == ("#1\n\N{RIGHTWARDS ARROW} gone\n", "good")
    assert "key" not in steps


def test_access_is_a_step():
    """Who may pass is named, and a request that may not ends there."""
    refused = _steps(PRESS, "/a", resources=(STAFF,))
    assert refused["access"] == ("users of staff\nnot signed in\n", "bad")
    assert "rewrite" not in refused
    permitted = _steps(PRESS, "/a", fields={"user": "ann"}, resources=(STAFF,))
    assert permitted["access"] == ("users of staff\nas ann\n", "good")
    covered = Resource("/b/**", white_list=True)
    assert _steps(PRESS, "/a", resources=(covered,))["access"] == ("nobody\nnot signed in\n", "bad")


def test_an_address_without_a_target_ends_at_once():
    """A request for which nothing is mounted has an address only, and its refusal."""
    explanation = explained(Mounts([]), {"path": "/a"})
    assert [step.title for step in explanation.path] == ["URL"]
    assert explanation.target is None
    assert explanation.attempts[0].status == 404


@pytest.mark.parametrize(("resources", "kinds"), [((), [Serve, Browse, Refuse]), ((WITHOUT_INDEX,), [Browse, Refuse])])
def test_an_index_document_is_tried_only_if_it_may_be_requested(resources, kinds):
    """The attempts are the ones that the service makes: a directory whose index document is refused is listed."""
    get = GetAction(index_document="index.html")
    mounts = Mounts([site("", resources=resources, actions=Actions(get=get))])
    assert [type(each) for each in explained(mounts, {"path": "/d/"}).attempts] == kinds
