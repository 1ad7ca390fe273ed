"""The dialogues in `dialogues/`, held with the wire of the service and with Tornado's own server."""

from pathlib import Path

import pytest
import serving
from dialogues import Dialogue, dialogues, hold

DIALOGUES = tuple(dialogues(Path(__file__).with_name("dialogues")))


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=str)
async def test_a_dialogue_on_the_wire(dialogue):
    await hold(dialogue)


@pytest.mark.parametrize("dialogue", [each for each in DIALOGUES if "only on the wire" not in each.options], ids=str)
async def test_a_dialogue_on_the_server_of_tornado(dialogue, monkeypatch):
    monkeypatch.setattr(serving, "make_server", serving.tornado_server)
    await hold(dialogue)


@pytest.mark.parametrize(
    "wrong",
    [
        ("HTTP/1.1 404",),
        ("HTTP/1.1 200", "Content-Type:"),
        ("HTTP/1.1 200", "Content-Length: 2"),
        ("HTTP/1.1 200", "", "y"),
    ],
)
async def test_another_answer_fails(wrong):
    asked = (">", ("GET /a HTTP/1.1", "Host: h", ""))
    with pytest.raises(AssertionError):
        await hold(Dialogue("wrong", {"objects": "a=x"}, (asked, ("<", wrong))))
