"""The buttons of the status page end a stage, for the page itself and for nobody else."""

from __future__ import annotations

import re

import pytest
from admin_listeners import FakeAdministration, listener


def _form(end="promote", digest="77ab"):
    return f"end={end}&digest={digest}"


async def _posted(administration, body=None, **headers):
    """The answer to a form with an origin that is the listener's own, unless a header says otherwise."""
    async with listener(administration) as ask:
        own = f"http://{headers.get('Host') or ask.address}"
        sent = {"Origin": own, "Sec-Fetch-Site": "same-origin"} | headers
        sent = {name: value for name, value in sent.items() if value is not None}
        return await ask("POST", "/-/", body=_form() if body is None else body, follow=False, **sent)


@pytest.mark.parametrize("end", ["promote", "discard"])
async def test_a_button_ends_the_stage(end):
    """The browser goes back to the page by GET."""
    administration = FakeAdministration(staged="77ab")
    answer = await _posted(administration, _form(end))
    assert (answer.code, answer.headers["Location"]) == (303, "/-/?ended=4#ended")
    assert administration.ended == [(end, "77ab")]


@pytest.mark.parametrize(
    ("end", "words"), [("promote", "was promoted."), ("discard", "was discarded: generation 3 is in force.")]
)
async def test_the_page_says_what_happened(end, words):
    """It shows the end of the edit whose number is in its address, and nothing for an edit that did not end."""
    administration = FakeAdministration(ended=[(end, "77ab")])
    async with listener(administration) as ask:
        assert words in (await ask("GET", "/-/?ended=4")).body.decode()
        assert words not in (await ask("GET", "/-/?ended=5")).body.decode()


async def test_the_page_compares_the_answers_of_both_generations():
    """While an edit answers some clients, their errors and times are beside those of everyone else."""
    async with listener(FakeAdministration(staged="77ab")) as ask:
        page = (await ask("GET", "/-/")).body.decode()
    assert "answers 5 % of the clients" in page
    assert "190 answers before: 1 with 404, 2 with another 4xx, 0 with 5xx; 5.0 ms on average." in page
    assert "10 answers with the edit: 4 with 404, 0 with another 4xx, 3 with 5xx; 6.4 ms on average." in page


async def test_a_stage_is_announced_once():
    """Its counts change with each update of the page, and are in no live region; that it began is in one."""
    async with listener(FakeAdministration(staged="77ab")) as ask:
        page = (await ask("GET", "/-/")).body.decode()
    regions = re.findall(r'role="status".*?</(?:p|div)>', page, re.DOTALL)
    assert any("Serving, edit staged" in region for region in regions)
    assert not any("requests compared" in region for region in regions)


REFUSED = {
    "another site": {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
    "another site, without Fetch Metadata": {"Origin": "http://evil.example", "Sec-Fetch-Site": None},
    "another port of this host": {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"},
    "another port, without Fetch Metadata": {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": None},
    "another scheme": {"Origin": "https://127.0.0.1", "Host": "127.0.0.1", "Sec-Fetch-Site": None},
    "a hidden origin": {"Origin": "null"},
    "no origin": {"Origin": None},
    "neither": {"Origin": None, "Sec-Fetch-Site": None},
    "the address bar": {"Sec-Fetch-Site": "none"},
    "two origins": {"Origin": "http://127.0.0.1, http://evil.example"},
}


@pytest.mark.parametrize("headers", REFUSED.values(), ids=REFUSED)
async def test_nobody_else_can_press_a_button(headers):
    """A form that the page itself did not post is a 403, and ends nothing."""
    administration = FakeAdministration(staged="77ab")
    answer = await _posted(administration, **headers)
    assert (answer.code, administration.ended) == (403, [])


@pytest.mark.parametrize(("scheme", "status"), [("https", 303), ("http", 403)])
async def test_a_listener_with_tls_is_another_origin(scheme, status):
    """The same address without TLS is another site."""
    async with listener(FakeAdministration(staged="77ab"), protocol="https") as ask:
        origin = {"Origin": f"{scheme}://{ask.address}"}
        assert (await ask("POST", "/-/", body=_form(), follow=False, **origin)).code == status


async def test_a_name_that_leads_here_cannot_press_a_button():
    """DNS rebinding makes another site's page the same origin: an unknown Host is a 421."""
    administration = FakeAdministration(staged="77ab")
    answer = await _posted(administration, Host="evil.example:9090")
    assert (answer.code, administration.ended) == (421, [])


async def test_a_name_cannot_press_a_button_from_another_machine_either():
    """Monitoring may use any name; its page has no buttons, and a form is a 421."""
    administration = FakeAdministration(staged="77ab")
    names = {"Host": "evil.example:9090", "X-Real-Ip": "192.0.2.1"}
    async with listener(administration, xheaders=True) as ask:
        origin = {"Origin": "http://evil.example:9090", "Sec-Fetch-Site": "same-origin"}
        answer = await ask("POST", "/-/", body=_form(), **names, **origin)
        page = await ask("GET", "/-/", **names)
    assert (answer.code, administration.ended) == (421, [])
    assert (page.code, b"<button name=" in page.body) == (200, False)


async def test_a_read_only_listener_has_no_buttons():
    """Neither does it take what they would send."""
    administration = FakeAdministration(staged="77ab", is_read_only=True)
    answer = await _posted(administration)
    async with listener(administration) as ask:
        page = (await ask("GET", "/-/")).body.decode()
    assert (answer.code, administration.ended) == (403, [])
    assert "<button name=" not in page
    assert "tornado-proxy promote" in page


async def test_an_edit_that_was_not_seen_stays_staged():
    """Between the page and the click came another edit: 409, and the page shows that edit."""
    administration = FakeAdministration(staged="88cd")
    answer = await _posted(administration)
    assert (answer.code, administration.ended) == (409, [])
    page = answer.body.decode()
    assert "Another edit is staged than the one that the page showed" in page
    assert re.search(r'name="digest" value="88cd"', page)


@pytest.mark.parametrize(
    ("ended", "words"), [([], "No edit is staged."), ([("promote", "77ab")], "generation 4 was promoted before")]
)
async def test_without_a_staged_edit_a_button_does_nothing(ended, words):
    """The page says why."""
    administration = FakeAdministration(ended=ended)
    answer = await _posted(administration)
    assert (answer.code, administration.ended) == (409, ended)
    assert words in answer.body.decode()


@pytest.mark.parametrize("body", ["", "end=promote", "end=reload&digest=77ab", "digest=77ab", "end=promote&digest=%FF"])
async def test_another_form_is_refused(body):
    """A form without an edit would promote whatever is staged."""
    administration = FakeAdministration(staged="77ab")
    answer = await _posted(administration, body)
    assert (answer.code, administration.ended) == (400, [])


async def test_a_staged_edit_is_shown_with_its_buttons():
    """The form is the page's own, and texts of the edit are escaped."""
    async with listener(FakeAdministration(staged="77ab")) as ask:
        answer = await ask("GET", "/-/")
    page = answer.body.decode()
    assert '<form class="act" method="post" action="/-/">' in page
    assert "<ins>/2026/&lt;a&gt;.html</ins>" in page
    # A browser would hide the origin of the form.
    assert answer.headers["Referrer-Policy"] == "same-origin"
