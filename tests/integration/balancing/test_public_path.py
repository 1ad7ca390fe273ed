"""Proxies that take a path off, as docs/operations.md configures them: all that clients are told works through them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import real_s3
from balancers import running
from running import Proxy, free_port, start_proxy

pytestmark = pytest.mark.integration

MANUAL = (Path(__file__).parents[3] / "docs" / "operations.md").read_text(encoding="utf-8")
CONFIGURATION = """
server: {{port: 0, trustedProxies: [127.0.0.1]}}
targets:
  site:
    bucket: {{name: {name}, s3Endpoint: "{endpoint}", s3ForcePathStyle: true}}
    actions: {{GET: {{config: {{redirectWithTrailingSlashForNotFoundFile: true}}}}, PUT: {{enabled: true}}}}
"""
NGINX = "daemon off; pid {folder}/pid; error_log stderr; events {{}}\nhttp {{ access_log off; server {{ listen 127.0.0.1:{port};\n{text}}} }}"
HAPROXY = "defaults\n    mode http\n    timeout client 9s\n    timeout server 9s\n    timeout connect 9s\n{text}"


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> Iterator[Proxy]:
    """A service with a bucket of odd names."""
    with real_s3.moto_bucket("prefixed") as bucket:
        for key in ("dir/a b.txt", "dir/per%41.txt", "dir/größe.txt", "dir/sub/c.txt"):
            bucket.put(key, key.encode())
        folder = tmp_path_factory.mktemp("service")
        with start_proxy(folder, CONFIGURATION.format(name=bucket.name, endpoint=bucket.endpoint)) as proxy:
            yield proxy


@pytest.fixture(params=["nginx", "haproxy"])
def proxy(request, service, tmp_path) -> Iterator[Proxy]:
    """A proxy with the lines of the manual."""
    (text,) = re.findall(rf"```{request.param}\n(.*?)```", MANUAL, re.DOTALL)
    port, path = free_port(), tmp_path / "proxy.conf"
    text = text.replace("127.0.0.1:8080", f"127.0.0.1:{service.address[1]}").replace(":80\n", f"127.0.0.1:{port}\n")
    template = {"nginx": NGINX, "haproxy": HAPROXY}[request.param]
    path.write_text(template.format(text=text, port=port, folder=tmp_path))
    arguments = {"nginx": ["-p", str(tmp_path), "-c", str(path)], "haproxy": ["-db", "-f", str(path)]}
    with running([request.param, *arguments[request.param]], port) as started:
        yield started


@pytest.mark.parametrize("accept", ["text/html", "*/*"])
def test_every_link_works_through_the_proxy(proxy, accept):
    """Pages of people and of programs, their files and their assets are found at the addresses that they name."""
    pending, seen = ["/files/"], {}
    while pending:
        path = pending.pop()
        seen[path] = answer = proxy.request("GET", path, headers={"Accept": accept})
        if answer.headers["content-type"].startswith("text/html"):
            links = re.findall(r'(?:href|src)="(/[^"?]*)', answer.text)
            pending += [link for link in links if link not in seen and link not in pending]
    assert {answer.status for answer in seen.values()} == {200}
    names = ("a%20b.txt", "per%2541.txt", "gr%C3%B6%C3%9Fe.txt", "sub/c.txt")
    assert {f"/files/dir/{name}" for name in names} <= set(seen)


def test_redirects_and_locations_have_the_path(proxy):
    """A directory without its slash, the path itself and an upload."""
    moved = [proxy.request("GET", path) for path in ("/files", "/files/dir?x=1")]
    locations = [re.sub("^http://[^/]+", "", answer.headers["location"]) for answer in moved]
    assert locations == ["/files/", "/files/dir/?x=1"]
    name = f"{proxy.address[1]}.txt"
    stored = proxy.upload("/files/dir/", name, b"new")
    assert (stored.status, stored.headers["location"]) == (201, f"/files/dir/{name}")
    assert proxy.request("GET", stored.headers["location"]).body == b"new"
