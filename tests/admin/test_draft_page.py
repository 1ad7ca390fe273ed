"""The page of drafts: its form, who may post it, and how it shows what is said of a draft."""

import re

import pytest
from admin_listeners import FakeAdministration, listener

from tornado_proxy.admin.limits import LARGEST_DRAFT
from tornado_proxy.admin.simulation import DraftFile, DraftGroup, DraftPage, DraftResult
from tornado_proxy.admin.status import PathStep, StatusPages
from tornado_proxy.routing.compare import KeptRequest, Kind
from tornado_proxy.tools.diff import Change, Outcome
from tornado_proxy.tools.simulator import logged

FORM = "file=/etc/site.rules&text=%0Atarget+x+%7B%7D+"
REQUEST = KeptRequest(0.0, "site", "GET", "files.test", "/press/<a>", "/press/<a>", signed_in=False)
STEP = PathStep("draft", (((r"^/(", None), ("<b>", 1)),), "good")
CHANGED = Change(logged(REQUEST), REQUEST.path, 2, Kind.KEY, Outcome("/old/<a>"), Outcome("/new/<a>"))
GROUP = DraftGroup("site", "press", None, 12, ((CHANGED, (STEP,)),))


async def _posted(administration, body=FORM, **headers):
    async with listener(administration) as ask:
        sent = {"Origin": f"http://{ask.address}", "Sec-Fetch-Site": "same-origin"} | headers
        sent = {name: value for name, value in sent.items() if value is not None}
        return await ask("POST", "/-/draft", body=body, **sent)


def _rendered(**fields):
    file = DraftFile("/etc/site.rules", "site.rules")
    page = DraftPage((file,), file, "", kept=14, most_kept=500, result=DraftResult(**({"kept": 14} | fields)))
    return StatusPages().render_draft(page).decode()


async def test_the_page_has_a_box_with_the_rules_in_force():
    """Names and text are escaped, and the form is the page's own."""
    async with listener(FakeAdministration()) as ask:
        answer = await ask("GET", "/-/draft?file=/etc/site.rules")
    page = answer.body.decode()
    assert (answer.code, "default-src 'none'" in answer.headers["Content-Security-Policy"]) == (200, True)
    assert 'spellcheck="false">\ntarget &lt;site&gt; {}\n</textarea>' in page
    assert 'method="post" action="draft#result" enctype="multipart/form-data"' in page
    assert "&lt;rules&gt;/site.rules (site)</option>" in page
    assert "on 3 requests</button>" in page
    assert f'maxlength="{LARGEST_DRAFT}"' in page


async def test_a_draft_is_tried():
    """Its text is taken as it is, spaces included."""
    administration = FakeAdministration()
    answer = await _posted(administration)
    assert (answer.code, administration.drafts) == (200, [("/etc/site.rules", "\ntarget x {} ")])


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example", "Sec-Fetch-Site": None},
        {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": None},
        {"Origin": "https://127.0.0.1", "Host": "127.0.0.1", "Sec-Fetch-Site": None},
        {"Origin": "null"},
        {"Origin": None},
        {"Origin": None, "Sec-Fetch-Site": None},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://127.0.0.1, http://evil.example"},
    ],
)
async def test_another_page_cannot_try_a_draft(headers):
    """It takes processor time."""
    administration = FakeAdministration()
    answer = await _posted(administration, **headers)
    assert (answer.code, administration.drafts) == (403, [])


async def test_a_name_that_leads_here_cannot_try_a_draft():
    """DNS rebinding: neither by GET nor by POST."""
    administration = FakeAdministration()
    async with listener(administration, xheaders=True) as ask:
        names = {"Host": "evil.example", "X-Real-Ip": "192.0.2.1", "Origin": "http://evil.example"}
        answers = [await ask("GET", "/-/draft", **names), await ask("POST", "/-/draft", body=FORM, **names)]
    assert ([answer.code for answer in answers], administration.drafts) == ([421, 421], [])


async def test_a_read_only_listener_has_no_drafts():
    """It takes no POST at all, so the page would be of no use."""
    administration = FakeAdministration(is_read_only=True)
    async with listener(administration) as ask:
        shown, status = await ask("GET", "/-/draft"), await ask("GET", "/-/")
    posted = await _posted(administration)
    assert (shown.code, posted.code, administration.drafts) == (403, 403, [])
    assert b'"draft"' not in status.body


async def test_the_status_page_leads_to_drafts():
    async with listener(FakeAdministration()) as ask:
        assert b'<a href="draft">Draft an edit</a>' in (await ask("GET", "/-/")).body


@pytest.mark.parametrize("body", ["", "file=a", "text=a"])
async def test_an_incomplete_form_is_refused(body):
    administration = FakeAdministration()
    assert ((await _posted(administration, body)).code, administration.drafts) == (400, [])


def test_the_changes_are_counted_and_explained():
    """The verdict comes first; then each pair of rewrites with its requests, escaped, and how often each was made."""
    kinds = {"key": 11, "error": 1, "unknown": 1, "same": 1}
    page = _rendered(kinds=kinds, groups=(GROUP,))
    assert "11 of 14 requests would change their key</h2>" in page
    assert re.search(r'<span class="pill bad">1</span> would fail', page)
    assert "<code>press</code> → <code>no rewrite</code>" in page
    assert "<del>/old/&lt;a&gt;</del> <ins>/new/&lt;a&gt;</ins>" in page
    assert 'href="./?method=GET&amp;path=%2Fpress%2F%253Ca%253E&amp;host=files.test#explain"' in page
    assert '<mark class="g1">&lt;b&gt;</mark>' in page
    assert "and 10 requests more" in page


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kinds": {"key": 1, "same": 13}}, "1 of 14 requests would change its key"),
        ({"is_broken": True, "diagnostics": ("error: <x>",)}, "The draft has mistakes"),
        ({"is_broken": True, "diagnostics": ("error: <x>",)}, "error: &lt;x&gt;</pre>"),
        ({"diagnostics": ("warning: x",), "unshown": 3}, "and 3 more"),
        ({"is_linted": False}, "There are too many rules to be linted here"),
        ({"kinds": {"same": 2}}, "12 requests more could not be decided in time"),
        ({"tests": 2, "all_tests": 2}, "2 tests pass<"),
        ({"tests": 1, "all_tests": 1}, "1 test passes<"),
        ({"tests": 2, "all_tests": 4, "failed": 1, "failures": ("x",)}, "1 test of 2 fails<"),
        ({"tests": 2, "all_tests": 4}, "2 tests did not run in time"),
        ({}, "The rules are as those in force."),
        ({"changes": ("target `site`: rewrites added: `a`",)}, "target <code>site</code>: rewrites added"),
    ],
)
def test_what_is_said_of_a_draft_is_shown(fields, words):
    assert words in _rendered(**fields)


FILE = DraftFile("/etc/rules/site.rules", "site.rules")


@pytest.mark.parametrize(
    ("page", "words", "has_box"),
    [
        (DraftPage((FILE,), FILE, "", result=DraftResult()), "<code>internalServer.keptRequests</code> is 0", True),
        (DraftPage(file=FILE, text=""), "save it as <code>/etc/rules/site.rules</code>", True),
        (DraftPage(problem="The configuration names no rule file."), "The configuration names no rule file.", False),
    ],
    ids=["no kept requests", "no draft yet", "no rule file"],
)
def test_the_page_says_what_to_do(page, words, has_box):
    """It names the option that keeps no requests, how a draft comes into force, and why there is no box."""
    html = StatusPages().render_draft(page).decode()
    assert (words in html, "<textarea" in html) == (True, has_box)
