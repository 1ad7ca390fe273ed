"""Every row of the tables in the service's specification, over HTTP, against S3."""

import pytest
from running import start_proxy

RULES = {
    "ignored": 'target ignored { rewrite `^/elsewhere$` -> "/never" }',
    "simple": 'target simple { rewrite `^/file\\.html$` -> "/redirected/file.html" }',
    "group": 'target group { rewrite `^/(?P<folder>[^/]+)/(?P<file>[^/]+)$` -> "/$folder/fake/$folder/$file" }',
    "prefixed": 'target prefixed { rewrite `^/file\\.html$` -> "/redirected/file.html" }',
    "user": 'target user { rewrite `^/file\\.html$` -> go "/{{ .User.GetUsername }}/redirected/file.html" }',
    "user_jinja": 'target user-jinja { rewrite `^/file\\.html$` -> jinja "/{{ user.username }}/redirected/file.html" }',
    "advanced": (
        "target advanced { rewrite `^/(?P<one>[^/]+)/(?P<two>[^/]+)/file\\.html$`"
        ' -> go "/{{ .Groups.one }}/{{ .User.Username }}/{{ .Groups.two }}/file.html" }'
    ),
    "first": (
        'target first { rewrite `^/file\\.html$` -> "/one/file.html"\n'
        'rewrite `^/.*$` -> "/two/file.html"\nrewrite `^/one/` -> "/never" }'
    ),
}

ROWS = [
    # target, request path, user, object key
    ("ignored", "/file.html", None, "ignored/file.html"),
    ("simple", "/file.html", None, "simple/redirected/file.html"),
    ("group", "/folder1/file.html", None, "group/folder1/fake/folder1/file.html"),
    ("prefixed", "/file.html", None, "folder1/redirected/file.html"),
    ("user", "/file.html", "ann", "user/ann/redirected/file.html"),
    ("user-jinja", "/file.html", "ann", "user-jinja/ann/redirected/file.html"),
    ("advanced", "/input1/input2/file.html", "ann", "advanced/input1/ann/input2/file.html"),
    ("first", "/file.html", None, "first/one/file.html"),
]

SIGN_IN = "resources: [{path: /**, methods: [GET, PUT, DELETE], provider: staff, basic: {credentials: [{user: ann, password: {value: secret}}]}}]"


def _target(name: str, bucket, prefix: str, *, sign_in: bool) -> str:
    return f"""
  {name}:
    mount: {{host: {name}.test, path: [/]}}
    bucket: {{name: {bucket.name}, prefix: {prefix}, s3Endpoint: "{bucket.endpoint}", s3ForcePathStyle: true}}
    actions: {{PUT: {{enabled: true, config: {{allowOverride: true}}}}, DELETE: {{enabled: true}}}}
    {SIGN_IN if sign_in else ""}
"""


@pytest.fixture(scope="module")
def proxy(bucket, tmp_path_factory):
    """A server with a target for each row, chosen by host."""
    targets = "".join(
        _target(name, bucket, "/folder1" if name == "prefixed" else name, sign_in=user is not None)
        for name, _, user, _ in ROWS
    )
    configuration = f"rules: [rules]\nauthProviders: {{basic: {{staff: {{realm: Files}}}}}}\ntargets:\n{targets}"
    with start_proxy(tmp_path_factory.mktemp("seed"), configuration, **RULES) as started:
        yield started


def _credentials(user: str | None) -> str | None:
    return f"{user}:secret" if user else None


@pytest.mark.parametrize(("target", "path", "user", "key"), ROWS)
def test_get_and_head_are_rewritten(proxy, bucket, target, path, user, key):
    bucket.put(key, key.encode())
    get, head = (proxy.request(each, path, host=f"{target}.test", user=_credentials(user)) for each in ("GET", "HEAD"))
    assert (get.status, get.text) == (200, key)
    assert (head.status, head.headers["content-length"], head.body) == (200, str(len(key)), b"")


@pytest.mark.parametrize(("target", "path", "user", "key"), ROWS)
def test_put_is_rewritten(proxy, bucket, target, path, user, key):
    """PUT of a form stores under the rewritten key, made from the directory and the file name."""
    directory, _, name = path.rpartition("/")
    answer = proxy.upload(f"{directory}/", name, b"put", host=f"{target}.test", user=_credentials(user))
    assert (answer.status, bucket.get(key)) == (201, b"put")
    assert answer.headers["location"] == path


@pytest.mark.parametrize(("target", "path", "user", "key"), ROWS)
def test_delete_is_rewritten(proxy, bucket, target, path, user, key):
    bucket.put(key, b"to go")
    answer = proxy.request("DELETE", path, host=f"{target}.test", user=_credentials(user))
    assert answer.status == 204
    assert key not in bucket.all_keys()
