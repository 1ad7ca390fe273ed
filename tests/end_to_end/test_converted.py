"""The worked example of docs/migrating-from-s3-proxy.md: converted, served, and asked what its table says."""

from __future__ import annotations

import gzip
import http.client
import re
import ssl
import time
from base64 import b64encode
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from issuer import running_issuer
from running import Bucket, Response, form, start_proxy

from tornado_proxy.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "migrating-from-s3-proxy.md").read_text(encoding="utf-8")
EXAMPLE = PAGE.partition("## A worked example")[2]
CONFIGURATION = re.search(r"```yaml\n(.*?)```", EXAMPLE, re.DOTALL)[1]
ROWS = re.findall(r"^\| (GET|PUT|DELETE) `(.+?)` \| (.+?) \| ([0-9]+) \| (?:`(.+?)` )?\|$", EXAMPLE, re.MULTILINE)
OBJECTS = {
    "public/index.html": b"the front page",
    "public/2022/fair.html": b"the fair of 2022",
    "public/long.txt": b"a long text " * 999,
    "public/board/minutes.txt": b"the minutes",
    "public/people/ann.txt": b"about ann",
    "public/policy/a.txt": b"as the policy says",
    "pages/missing.tpl": b"{{ .Request.URL.Path }} is not here",
    "homes/dan/letter.txt": b"a letter of dan",
    "homes/eve/diary.txt": b"a diary",
}


def _staff(name, groups="staff"):
    return {"X-User": name, "X-Email": f"{name}@example.org", **({"X-Groups": groups} if groups else {})}


@contextmanager
def _hooks():
    """A receiver of webhooks: its URL, and the bodies that it was sent."""
    bodies = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", bodies
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def world(s3_endpoint, tmp_path_factory):
    """The example as it runs: a function that asks it, the bucket, and what the webhooks were sent."""
    folder = tmp_path_factory.mktemp("converted")
    bucket = Bucket.create(s3_endpoint, "press")
    for key, content in OBJECTS.items():
        bucket.put(key, content, ContentType="text/html" if key.endswith("html") else "text/plain")
    bucket.put("public/photo.txt", b"a photo", Metadata={"credit": "Bob"}, ContentType="text/plain")
    with running_issuer() as issuer, _hooks() as (hooks, bodies):
        places = {
            "https://s3.example.org": s3_endpoint,
            "https://login.example.org": issuer.url,
            "https://policy.example.org/allow": f"{issuer.url}/policy",
            "https://hooks.example.org": hooks,
        }
        text = CONFIGURATION
        for name, place in places.items():
            text = text.replace(name, place)
        (folder / "conf.yaml").write_text(text)
        out = folder / "new"
        assert main(["convert", "s3-proxy", str(folder / "conf.yaml"), "--out", str(out)]) == 1
        made = (out / "tornado-proxy.yaml").read_text()
        served = made.replace("port: 8443", "port: 0").replace("port: 9090", "port: 0")
        with start_proxy(out, served) as proxy:
            yield _asking(proxy, issuer), bucket, bodies, (out / "report.md").read_text()
    bucket.client.close()


def _asking(proxy, issuer):
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    who = {
        "nobody": {},
        "ann's password": {"Authorization": "Basic " + b64encode(b"ann:secret of ann").decode()},
        "a page of `https://app.example.org`": {"Origin": "https://app.example.org"},
        "a client that takes gzip": {"Accept-Encoding": "gzip"},
        "a token of the group `board`": {"Authorization": f"Bearer {issuer.token(groups=['board'])}"},
        "a token of another group": {"Authorization": f"Bearer {issuer.token()}"},
        "dan of the staff": _staff("dan"),
        "root of the staff": _staff("root"),
        "dan, who is in no group": _staff("dan", groups=""),
    }

    def ask(method, path, by):
        headers, body = form("new.txt", b"new") if method == "PUT" else ({}, None)
        connection = http.client.HTTPSConnection(*proxy.address, timeout=30, context=tls)
        with closing(connection):
            connection.request(method, path, body, {**headers, **who[by]})
            answer = connection.getresponse()
            content, pairs = answer.read(), answer.getheaders()
        plain = gzip.decompress(content) if ("Content-Encoding", "gzip") in pairs else content
        return Response(answer.status, dict(pairs), plain)

    return ask


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(row[:3]))
def test_the_example_answers_what_its_table_says(world, row):
    """Each row, in its order; what it shows stands in the headers or in the body."""
    ask, *_ = world
    method, path, by, status, shown = row
    answer = ask(method, path, by)
    assert answer.status == int(status)
    lines = [*(f"{name.title()}: {value}" for name, value in answer.headers.items()), answer.text]
    assert shown in "\n".join(lines)


def test_the_table_was_found():
    """All of its rows."""
    assert len(ROWS) == EXAMPLE.count("\n| GET") + EXAMPLE.count("\n| PUT") + EXAMPLE.count("\n| DELETE")


def test_an_upload_of_the_example_has_what_it_is_stored_with(world):
    """Below the user's directory, with metadata, headers and storage class."""
    ask, bucket, *_ = world
    assert ask("PUT", "/home/stored/", "dan of the staff").status == 201
    stored = bucket.client.head_object(Bucket="press", Key="homes/dan/stored/new.txt")
    assert (stored["Metadata"], stored["CacheControl"], stored["StorageClass"]) == (
        {"by": "dan"},
        "no-cache",
        "STANDARD_IA",
    )


def test_the_webhook_of_the_example_is_called(world):
    """In the background, soon after the answer."""
    ask, _, bodies, _ = world
    assert ask("GET", "/press/photo.txt", "nobody").status == 200
    end = time.monotonic() + 10
    while not any(b'"photo.txt"' in each for each in bodies) and time.monotonic() < end:
        time.sleep(0.05)
    assert any(b'"photo.txt"' in each for each in bodies)


def test_nothing_of_the_example_is_left_out(world):
    """The report has no such chapter."""
    assert "## Left out" not in world[3]
    assert "## Closed" not in world[3]
