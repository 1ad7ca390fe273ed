r"""Dialogues of HTTP in files: the bytes that a client sends, and what it must get.

A dialogue begins with its title, `# …`, and options of the site, `objects: a=x, b=y` and `only on the wire: REASON`. A
line behind `> ` is sent with CR LF, or without if it ends with a backslash; `\xNN` is a byte. Behind `< ` an answer
begins with its status line, whose reason is left out. Of its headers, those named must have these values, and a header
without a value must be missing. After an empty line stands the body. `< (no body)` follows the head of an answer to
HEAD, `< (closed)` the last answer of a connection; what is sent then needs another one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from serving import WRITABLE, Client, serve


@dataclass(frozen=True)
class Dialogue:
    """A dialogue; the steps are lines of one side each, without the signs in front."""

    title: str
    options: dict[str, str] = field(default_factory=dict)
    steps: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __str__(self) -> str:
        return self.title


def dialogues(folder: Path) -> Iterator[Dialogue]:
    """The dialogues of a folder's files."""
    for file in sorted(folder.glob("*.http")):
        for text in re.split(r"^# ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            title, *lines = text.rstrip("\n").split("\n")
            sides = groupby((line for line in lines if line), key=lambda line: line[0] if line[0] in "<>" else "")
            steps = [(side, tuple(line.removeprefix(side).removeprefix(" ") for line in part)) for side, part in sides]
            options = [line.split(": ", 1) for side, part in steps if not side for line in part]
            spoken = tuple(step for step in steps if step[0])
            yield Dialogue(f"{file.stem}: {title}", dict(options), spoken)


def _bytes(lines: tuple[str, ...]) -> bytes:
    text = "".join(line.removesuffix("\\") if line.endswith("\\") else f"{line}\r\n" for line in lines)
    return re.sub(rb"\\x([0-9a-f]{2})", lambda match: bytes.fromhex(match[1].decode()), text.encode())


async def hold(dialogue: Dialogue) -> None:
    """Plays the client of a dialogue, and checks what it gets."""
    objects = dict(each.split("=") for each in filter(None, dialogue.options.get("objects", "").split(", ")))
    files = {key: body.encode() for key, body in objects.items()}
    async with serve(files, actions=WRITABLE) as site:
        steps = [*dialogue.steps]
        while steps:
            async with site.connect() as client:
                is_closed = False
                while steps and not is_closed:
                    side, lines = steps.pop(0)
                    await (client.send(_bytes(lines)) if side == ">" else _expect_all(client, lines))
                    is_closed = "(closed)" in lines


async def _expect_all(client: Client, lines: tuple[str, ...]) -> None:
    starts = [index for index, line in enumerate(lines) if line.startswith("HTTP/1.1 ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        await _expect(client, lines[start:end])


async def _expect(client: Client, lines: tuple[str, ...]) -> None:
    expected = [line for line in lines if line not in ("(no body)", "(closed)")]
    at = expected.index("") if "" in expected else len(expected)
    if "(no body)" in lines:
        status, headers = await client.receive_head()
    else:
        answer = await client.receive()
        status, headers = answer.status, answer.headers
        assert at == len(expected) or answer.text == "\n".join(expected[at + 1 :]), answer.text
    assert f"HTTP/1.1 {status}" == expected[0], f"{status} is not {expected[0]}"
    for line in expected[1:at]:
        name, _, value = line.partition(":")
        assert headers.get(name.lower(), "") == value.strip(), f"{line} is not in {headers}"
    assert "(closed)" not in lines or await client.is_closed()
