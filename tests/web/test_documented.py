"""docs/http.md documents the statuses, headers and JSON shapes of answers."""

import json
import re
from pathlib import Path

import pytest
from serving import part, serve

from tornado_proxy.config.actions import Actions, PutAction
from tornado_proxy.rules.tree import REDIRECTS
from tornado_proxy.semantics.conditions import ContentRange
from tornado_proxy.semantics.request import StatusError
from tornado_proxy.storage.store import ObjectInfo
from tornado_proxy.web.answer import file_headers
from tornado_proxy.web.generation import GENERATION
from tornado_proxy.web.handler import REQUEST_ID
from tornado_proxy.wire.incoming import ClientDisconnected

TEXT = (Path(__file__).parents[2] / "docs" / "http.md").read_text(encoding="utf-8")
_ROWS = re.findall(r"^\| ([1-5][0-9]{2}(?:, [1-5][0-9]{2})*) \|", TEXT, re.MULTILINE)
STATUSES = {int(number) for row in _ROWS for number in row.split(", ")}
SHAPES = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)]


def test_every_status_is_documented():
    answered = {200, 201, 204, 206, *REDIRECTS, 304, 401, 405, 410, 500}
    errors, statuses = [StatusError], set[int]()
    while errors:
        error = errors.pop()
        errors += error.__subclasses__()
        statuses.add(getattr(error, "status", 500))
    assert answered | statuses - {ClientDisconnected.status} == STATUSES


@pytest.mark.parametrize("name", [name for name, _ in file_headers(ObjectInfo(0), Actions(), ContentRange(0, 0, 1))])
def test_every_header_of_a_file_is_documented(name):
    assert f"`{name}" in TEXT


@pytest.mark.parametrize("name", [REQUEST_ID, GENERATION, "Retry-After", "WWW-Authenticate", "Allow", "Link"])
def test_the_applications_own_headers_are_documented(name):
    """The page names each header that the application adds."""
    assert f"`{name}" in TEXT


async def test_the_shapes_are_documented():
    """Listing, upload, form and error have exactly the fields of the examples on the page."""
    listing, upload, signed, error = SHAPES
    actions = Actions(put=PutAction(enabled=True, allow_override=True, direct_uploads=True))
    async with serve({"a b.txt": b"x", "images/x": b""}, actions=actions) as site:
        listed = json.loads((await site.get("/?format=json")).body)
        uploaded = json.loads((await site.upload("/", part("file", b"x", filename="c"))).body)
        form = json.loads((await site.request("PUT", "/films/fair.mp4?upload=direct")).body)
        refused = json.loads((await site.get("/missing?format=json")).body)
    actual = listed, uploaded, form, refused
    assert [list(shape) for shape in actual] == [list(shape) for shape in (listing, upload, signed, error)]
    assert [list(entry) for entry in listed["entries"]] == [list(listing["entries"][0])] * 2
