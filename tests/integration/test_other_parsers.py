"""Requests as Go's net/http reads them, and uploads of clients that offer HTTP/2: Java's HttpClient and curl."""

import asyncio
import base64
import shutil
import subprocess
from pathlib import Path

import pytest
from forms import forms, read
from framing import Read, conversations, disagreement, reader
from hypothesis import HealthCheck, Phase, given, settings
from real_go import build

pytestmark = pytest.mark.integration

CONVERSATIONS = 2000
JAVA = Path(__file__).parent / "java" / "Upload.java"


def test_go_reads_the_same_requests(tmp_path):
    """Whatever this service accepts, Go's net/http reads with the same body and the same next request."""
    go, asked = build("requests", tmp_path), []

    @settings(max_examples=CONVERSATIONS, phases=[Phase.generate], database=None, suppress_health_check=[*HealthCheck])
    @given(conversations())
    def collect(data):
        asked.append(data)

    async def ours():
        async with reader() as service:
            return [await service.read(data) for data in asked]

    collect()
    read = asyncio.run(ours())
    answers = go.ask({"data": base64.b64encode(data).decode()} for data in asked)
    for data, mine, theirs in zip(asked, read, answers, strict=True):
        reads = [Read(each["method"], each["path"], base64.b64decode(each["body"])) for each in theirs]
        assert disagreement(mine, reads) == "", data
    assert sum(map(len, read)) > len(asked) // 2


def test_go_reads_the_same_files_of_forms(tmp_path):
    """Of whatever form this service accepts, Go's mime/multipart reads the same file, or refuses it."""
    go, sent = build("forms", tmp_path), []

    @settings(max_examples=CONVERSATIONS, phases=[Phase.generate], database=None, suppress_health_check=[*HealthCheck])
    @given(forms())
    def collect(form):
        sent.append(form)

    collect()
    accepted = [(form, file) for form in sent if (file := read(*form)) is not None]
    answers = go.ask({"type": form[0], "body": base64.b64encode(form[1]).decode()} for form, _ in accepted)
    for (form, file), theirs in zip(accepted, answers, strict=True):
        files = [
            (each["filename"], base64.b64decode(each["content"])) for each in theirs or () if each["name"] == "file"
        ]
        assert theirs is None or files == [file], form
    assert len(accepted) > len(sent) // 10


async def _stored(*command: str | Path, paths: str) -> tuple[str, dict[str, bytes]]:
    """What a client prints that uploads to these URLs, and what is stored then."""
    async with reader() as service:
        urls = [service.url + path for path in paths.split()]
        process = await asyncio.create_subprocess_exec(*command, *urls, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        output, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        return output.decode(), service.stored


def test_java_uploads_whole_files():
    """Java's HttpClient offers h2c with the first request to a host; the body behind the offer is stored whole."""
    if shutil.which("javac") is None:
        pytest.skip("there is no Java development kit")
    for path in ("/length", "/chunks"):
        output, stored = asyncio.run(_stored("java", JAVA, paths=path))
        assert (output, stored) == ("201 HTTP_1_1\n", {path: b"x" * 100_000})


@pytest.mark.parametrize("options", [(), ("-H", "Transfer-Encoding: chunked")], ids=["a length", "chunks"])
def test_curl_uploads_a_whole_file(tmp_path, options):
    """`curl --http2 -T` offers h2c; the body behind the offer is stored whole."""
    file = tmp_path / "file"
    file.write_bytes(b"x" * 100_000)
    _, stored = asyncio.run(_stored("curl", "-sS", "--fail", "--http2", *options, "-T", file, paths="/a"))
    assert stored == {"/a": b"x" * 100_000}
