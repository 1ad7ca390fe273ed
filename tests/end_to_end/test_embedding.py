"""The application inside another Tornado program: the one of the README, and mistakes in its configuration."""

import asyncio
import sys

import pytest
from administering import eventually
from fenced import blocks
from programs import ROOT, output_of, until_end
from running import answers, exchange, free_port

import tornado_proxy
from tornado_proxy.service.embedding import ConfigurationError

README = (ROOT / "README.md").read_text(encoding="utf-8")


def _configuration(bucket) -> str:
    return f"""
rules: [site.rules]
targets:
  site:
    mount: {{path: [/]}}
    bucket: {{name: {bucket.name}, s3Endpoint: "{bucket.endpoint}", s3ForcePathStyle: true,
              credentials: {{accessKey: {{value: test}}, secretKey: {{value: test}}}}}}
    actions: {{PUT: {{enabled: true, config: {{rawUploads: true, allowOverride: true}}}}}}
"""


def _request(port: int, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    answer = exchange(("127.0.0.1", port), method, path, body)
    return answer.status, answer.body


def test_the_program_of_the_readme_serves_files_and_follows_edits(bucket, tmp_path):
    """Own handlers and targets answer on one port; an upload is stored; an edit of a rule takes effect."""
    (tmp_path / "proxy.yaml").write_text(_configuration(bucket))
    (tmp_path / "site.rules").write_text('target site { rewrite `^/old$` -> "/one" }')
    port = free_port()
    (program,) = [each.replace("8080", str(port)) for each in blocks(README, "python") if "asyncio" in each]
    with until_end(sys.executable, "-c", program, cwd=tmp_path):
        eventually(lambda: answers(f"http://127.0.0.1:{port}/hello"), 30)
        assert _request(port, "GET", "/hello") == (200, b"Hello")
        assert _request(port, "PUT", "/one", b"1")[0] == _request(port, "PUT", "/two", b"2")[0] == 201
        assert _request(port, "GET", "/old") == (200, b"1")
        (tmp_path / "site.rules").write_text('target site { rewrite `^/old$` -> "/two" }')
        eventually(lambda: _request(port, "GET", "/old") == (200, b"2"), 30)


def test_a_wrong_configuration_is_shown_with_its_place(tmp_path):
    """The error has each mistake with its place, as `serve --check` prints it."""
    (tmp_path / "proxy.yaml").write_text("targets: {site: {mount: {path: [/]}, buckett: {name: b}}}\n")
    with pytest.raises(ConfigurationError, match=r"unknown option `buckett`(.|\n)*proxy\.yaml:1:"):
        tornado_proxy.application(tmp_path / "proxy.yaml")


def test_an_application_can_be_closed(bucket, tmp_path):
    """`close` ends the watching of files and lets go of the bucket; no task stays."""
    (tmp_path / "proxy.yaml").write_text(_configuration(bucket).replace("rules: [site.rules]", "rules: []"))

    async def scenario():
        application = tornado_proxy.application(tmp_path / "proxy.yaml")
        await asyncio.sleep(0.05)
        await application.close()
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(scenario()) == set()


def test_the_library_leaves_the_types_of_the_program_alone():
    """The table of media types of the process stays as it was, also after an upload has used ours."""
    program = """
import mimetypes
mimetypes.add_type("text/x-own", ".own")
before = [*mimetypes.knownfiles], dict(mimetypes.types_map)
import tornado_proxy.service.embedding
from tornado_proxy.web.incoming_file import FileHead
assert FileHead("a.webp", None).content_type == "image/webp"
assert (mimetypes.knownfiles, mimetypes.types_map) == before
"""
    output_of(sys.executable, "-c", program)
