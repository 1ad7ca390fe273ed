import pytest
from conversions import made

from tornado_proxy.tools.convert.report import Outcome


def _made(text):
    return made(f"targets: {{site: {{mount: {{{text}}}, bucket: {{name: my-bucket}}}}}}")


@pytest.mark.parametrize(
    ("text", "host", "paths"),
    [
        ("path: [/a/, /b/]", "", ("/a/", "/b/")),
        ("path: '/a/,/b/'", "", ("/a/", "/b/")),
        ("host: '*'", "", ("/",)),
        ("host: Files.example.org, path: /", "files.example.org", ("/",)),
        ("host: '*.example.org', path: /", "*.example.org", ("/",)),
    ],
)
def test_a_mount_is_carried_over(text, host, paths):
    """Host and paths are the same."""
    done = _made(text)
    (site,) = done.settings.targets
    assert (site.mount.host, site.mount.paths) == (host, paths)
    assert done.report.complete


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("localhost:8080", "`localhost:8080` is `localhost`, on any port: hosts are compared without their port"),
        ("f*.org", "each `*` of `f*.org` stands for one character at least; for s3-proxy it may stand for nothing"),
    ],
)
def test_a_host_that_means_something_else_is_pointed_out(host, message):
    """What is not quite the same is said."""
    assert _made(f"host: '{host}', path: /").messages(Outcome.CHANGED) == [message]
