"""The configuration of converted.md: converted, served, and requested as in its table."""

import gzip
import re
import ssl
from base64 import b64encode
from dataclasses import replace
from pathlib import Path

import pytest
from administering import eventually
from issuer import running_issuer
from running import exchange, form, new_bucket, start_proxy
from scripted_s3 import reply, scripted_s3

from tornado_proxy.cli.main import main

EXAMPLE = Path(__file__).with_name("converted.md").read_text(encoding="utf-8")
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


def _staff_headers(name, groups="staff"):
    return {"X-User": name, "X-Email": f"{name}@example.org", **({"X-Groups": groups} if groups else {})}


@pytest.fixture(scope="module")
def example(s3_endpoint, tmp_path_factory):
    """The example, served: a function that sends requests, the bucket, the webhooks' bodies and the report."""
    folder = tmp_path_factory.mktemp("converted")
    with (
        new_bucket(s3_endpoint, "press") as bucket,
        running_issuer() as issuer,
        scripted_s3(answer=lambda _head: reply(204)) as receiver,
    ):
        for key, content in OBJECTS.items():
            bucket.put(key, content, ContentType="text/html" if key.endswith("html") else "text/plain")
        bucket.put("public/photo.txt", b"a photo", Metadata={"credit": "Bob"}, ContentType="text/plain")
        urls = {
            "https://s3.example.org": s3_endpoint,
            "https://login.example.org": issuer.url,
            "https://policy.example.org/allow": f"{issuer.url}/policy",
            "https://hooks.example.org": receiver.url,
        }
        text = CONFIGURATION
        for name, url in urls.items():
            text = text.replace(name, url)
        (folder / "conf.yaml").write_text(text)
        out = folder / "new"
        assert main(["convert", "s3-proxy", str(folder / "conf.yaml"), "--out", str(out)]) == 1
        converted = (out / "tornado-proxy.yaml").read_text()
        served = converted.replace("port: 8443", "port: 0").replace("port: 9090", "port: 0")
        with start_proxy(out, served) as proxy:
            yield _requester(proxy, issuer), bucket, receiver.bodies, (out / "report.md").read_text()


def _requester(proxy, issuer):
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    headers_by_client = {
        "nobody": {},
        "ann's password": {"Authorization": "Basic " + b64encode(b"ann:secret of ann").decode()},
        "a page of `https://app.example.org`": {"Origin": "https://app.example.org"},
        "a client that takes gzip": {"Accept-Encoding": "gzip"},
        "a token of the group `board`": {"Authorization": f"Bearer {issuer.token(groups=['board'])}"},
        "a token of another group": {"Authorization": f"Bearer {issuer.token()}"},
        "dan of the staff": _staff_headers("dan"),
        "root of the staff": _staff_headers("root"),
        "dan, who is in no group": _staff_headers("dan", groups=""),
    }

    def ask(method, path, client):
        headers, body = form("new.txt", b"new") if method == "PUT" else ({}, None)
        answer = exchange(proxy.address, method, path, body, headers | headers_by_client[client], context=tls)
        is_gzip = answer.headers.get("content-encoding") == "gzip"
        return replace(answer, body=gzip.decompress(answer.body)) if is_gzip else answer

    return ask


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(row[:3]))
def test_the_example_answers_as_in_its_table(example, row):
    ask, *_ = example
    method, path, client, status, excerpt = row
    answer = ask(method, path, client)
    assert answer.status == int(status)
    lines = [*(f"{name.title()}: {value}" for name, value in answer.headers.items()), answer.text]
    assert excerpt in "\n".join(lines)


def test_every_row_of_the_table_is_read():
    assert len(ROWS) == EXAMPLE.count("\n| GET") + EXAMPLE.count("\n| PUT") + EXAMPLE.count("\n| DELETE")


def test_an_upload_of_the_example_is_stored_with_its_metadata(example):
    ask, bucket, *_ = example
    assert ask("PUT", "/home/stored/", "dan of the staff").status == 201
    stored = bucket.client.head_object(Bucket="press", Key="homes/dan/stored/new.txt")
    found = stored["Metadata"], stored["CacheControl"], stored["StorageClass"]
    assert found == ({"by": "dan"}, "no-cache", "STANDARD_IA")


def test_the_webhook_of_the_example_is_called(example):
    ask, _, bodies, _ = example
    assert ask("GET", "/press/photo.txt", "nobody").status == 200
    eventually(lambda: any(b'"photo.txt"' in body for body in bodies))


def test_the_example_is_converted_completely(example):
    """The report has no chapter about options that were left out or closed."""
    assert "## Left out" not in example[3]
    assert "## Closed" not in example[3]
