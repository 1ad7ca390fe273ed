"""Generated configurations, served by s3-proxy and, converted, by this service: nothing is let through only here.

`S3_PROXY` names the program of s3-proxy. `CONVERSIONS` is the number of configurations (300), `CONVERSIONS_SEED` the
number of the first one, which makes each of them again.
"""

import contextlib
import http.client
import os
import random
import shutil
import subprocess
import time
from base64 import b64encode
from itertools import product
from pathlib import Path
from secrets import token_hex

import pytest
import real_s3
import yaml
from administering import Admin, eventually
from issuer import CLIENT, CLIENT_SECRET, running_issuer
from running import form, free_port, listens, new_bucket, start_proxy

from tornado_proxy.cli.output import save
from tornado_proxy.templates.go import built_in
from tornado_proxy.tools.convert import conversion
from tornado_proxy.tools.convert.conversion import CONFIGURATION, convert
from tornado_proxy.tools.convert.options import Unreadable, read

pytestmark = pytest.mark.integration

DEFAULT_PAGES = Path(conversion.__file__).with_name("default_pages")
_PROGRAM = os.environ.get("S3_PROXY", "")
_FIRST = int(os.environ.get("CONVERSIONS_SEED", "0"))
_SEEDS = range(_FIRST, _FIRST + int(os.environ.get("CONVERSIONS", "300")))
_REQUESTS = 110  # to each service for each configuration
NAMES = ("one", "two", "three")
KEYS = ("a.txt", "a/x.txt", "a/b/y.txt", "b/z.txt", "ann/a.txt", "p/a.txt", "p/a/x.txt", "p/b/z.txt", "p/ann/a/x.txt")
PATHS = (
    *("/", "/a.txt", "/a/", "/a/x.txt", "/a/b/", "/a/b/y.txt", "/a/a.txt", "/a/a/x.txt", "/b/", "/b/z.txt", "/b/a.txt"),
    *("/b/a/x.txt", "/a/b/a.txt", "/list/", "/closed-until-reviewed", "/a/closed-until-reviewed"),
)
HOSTS = ("a.test", "b.test", "b.a.test", "elsewhere.test", "a.test:8080")


def _basic(name, password):
    return {"Authorization": "Basic " + b64encode(f"{name}:{password}".encode()).decode()}


def _headers(name, groups):
    return {"X-User": name, "X-Email": f"{name}@example.org", "X-Groups": groups}


def _users(issuer):
    # The two services tolerate other differences between clocks: no token expires while they are compared.
    expires = {"exp": int(time.time()) + 3600}
    return {
        "nobody": {},
        "ann": _basic("ann", "of ann"),
        "bob": _basic("bob", "of bob"),
        "no password": _basic("ann", ""),
        "a token of the board": {"Authorization": f"Bearer {issuer.token(groups=['board', 'staff'], **expires)}"},
        "a token without groups": {
            "Authorization": f"Bearer {issuer.token(groups=[], email='eve@example.com', **expires)}"
        },
        "a header of the staff": _headers("ann", "staff,board"),
        "a header without groups": {name: text for name, text in _headers("eve", "").items() if text},
        "a header without email": {"X-User": "ann", "X-Groups": "staff"},
    }


class _Generator:
    """Makes configurations of s3-proxy that it accepts, most of them with something odd."""

    def __init__(self, seed, s3_endpoint, issuer):
        self._random = random.Random(seed)
        self._endpoint, self._issuer = s3_endpoint, issuer
        # Of several patterns for a host, s3-proxy takes one at random whenever it starts.
        self._hosts = self._one([({}, {}, {"host": "*"}), ({}, {}, {"host": "*"}), ({"host": "*.test"},)])

    def document(self):
        """A configuration of one to three targets, without the addresses of its listeners."""
        taken = set()
        targets = {name: self._target(name, taken) for name in NAMES[: self._random.randint(1, 3)]}
        document = {
            "authProviders": {
                "basic": {"staff": {"realm": "Staff"}},
                "header": {"front": {"usernameHeader": "X-User", "emailHeader": "X-Email", "groupsHeader": "X-Groups"}},
                "oidc": {"company": {"issuerUrl": self._issuer.url, "clientID": CLIENT, "state": "s",
                                     "clientSecret": {"value": CLIENT_SECRET}}},
            },
            "targets": targets,
        }  # fmt: skip
        if {"host": "*.test"} not in self._hosts and self._chance(0.3):
            document["listTargets"] = {"enabled": True, "mount": {"path": self._one([["/list/"], ["/list/"], []])}}
            if self._chance(0.6) and document["listTargets"]["mount"]["path"]:
                resource = {"path": "/list/", **self._guard(only_valid=True)}
                document["listTargets"]["resource"] = resource
        return document

    def _chance(self, share):
        return self._random.random() < share

    def _one(self, choices):
        return self._random.choice(choices)

    def _target(self, name, taken):
        mount = self._mount(taken)
        target = {
            "mount": mount,
            "bucket": {
                "name": name,
                "region": "us-east-1",
                "s3Endpoint": self._endpoint,
                "credentials": {"accessKey": {"value": "test"}, "secretKey": {"value": "test"}},
                **self._one([{}, {}, {"prefix": "p"}, {"prefix": "p/"}]),
            },
        }
        paths = mount.get("path")
        if paths and self._chance(0.8):
            resources = [self._resource(self._one(paths)) for _ in range(self._random.randint(0, 4))]
            target["resources"] = resources
        if self._chance(0.85):
            target["actions"] = self._actions(target.get("resources", []))
        if self._chance(0.2):
            target["keyRewriteList"] = [
                {"source": r"^(p/)?a/x\.txt$", "target": "${1}b/z.txt"},
                {"source": "^p/b/.*$", "target": "p/{{ .User.GetUsername }}/a/x.txt", "targetType": "TEMPLATE"},
            ][self._random.randrange(2) :]
        return target

    def _mount(self, taken):
        mount = self._one([*self._hosts, {"host": "a.test"}, {"host": "A.test:8080"}])
        choice = self._one([["/"], ["/"], ["/a/"], ["/b/"], ["/a/b/"], ["/a/", "/b/"], [], None])
        if choice is None:
            return {"host": "a.test", **mount}
        host = mount.get("host", "*").lower().partition(":")[0]
        paths = [path for path in choice if (host, path) not in taken]
        taken |= {(host, path) for path in paths}
        return {**mount, "path": paths}

    def _actions(self, resources):
        enabled = {name: self._chance(0.6) for name in ("GET", "HEAD", "PUT", "DELETE")}
        enabled["GET"] |= not (enabled["PUT"] or enabled["DELETE"])
        actions = {name: {"enabled": True} for name, is_on in enabled.items() if is_on}
        signs_in = any(each.get(kind) is not None for each in resources for kind in ("basic", "oidc", "header"))
        if "GET" in actions:
            options = {}
            if signs_in and self._chance(0.2):
                options = {"userIsolation": True, "userIsolationAdmins": self._one([[], ["bob"]])}
            if self._chance(0.2):
                options["indexDocument"] = "x.txt"
            if options:
                actions["GET"]["config"] = options
        if "PUT" in actions and self._chance(0.5):
            actions["PUT"]["config"] = {"allowOverride": self._chance(0.5), "metadata": {"a": "b"}}
        return actions

    def _resource(self, mount):
        globs = ("**", "**", "*", "", "a/**", "a/*", "*.txt", "a*", "b/**", "**/a.txt", "a.txt", "?.txt")
        glob = mount + self._one(globs)
        sets = (["GET"], ["GET", "HEAD", "PUT", "DELETE"], ["PUT"], ["HEAD"], ["DELETE", "GET"], [], "GET,PUT")
        methods = self._one(sets)
        return {"path": glob, **({} if self._chance(0.2) else {"methods": methods}), **self._guard()}

    def _guard(self, *, only_valid=False):
        guard = self._one([self._anyone, self._of_basic, self._of_basic, self._of_rules, self._of_rules])(only_valid)
        if "whiteList" not in guard and self._chance(0.1):
            guard["whiteList"] = self._one([True, None])
        return guard

    def _anyone(self, _only_valid):
        return {"whiteList": True, **self._one([{}, {"provider": "staff"}, {"basic": None}])}

    def _of_basic(self, _only_valid):
        users = [{"user": name, "password": {"value": f"of {name}"}} for name in ("ann", "bob") if self._chance(0.7)]
        return {"provider": "staff", "basic": {"credentials": users}}

    def _of_rules(self, only_valid):
        kind, provider = self._one([("oidc", "company"), ("header", "front")])
        if self._chance(0.2):
            url = f"{self._issuer.url}/{self._one(['policy', 'denied'])}"
            return {"provider": provider, kind: {"authorizationOPAServer": {"url": url}}}
        rules = [self._rule() for _ in range(self._random.randint(0, 3))]
        if only_valid and kind == "header":
            rules = [rule for rule in rules if "regexp" not in rule]
        return {"provider": provider, kind: {"authorizationAccesses": rules}}

    def _rule(self):
        about = self._one(
            [{"group": "staff"}, {"group": "board"}, {"email": "ann@example.org"}, {"group": "x", "email": "eve@example.com"},
             {"group": "^st", "regexp": True}, {"email": r"@example\.(org|com)$", "regexp": True}]
        )  # fmt: skip
        return {**about, **self._one([{}, {}, {"forbidden": True}])}


class _Client:
    """Sends requests over one connection, which it opens again after an end."""

    def __init__(self, port):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, method, host, path, headers, name):
        """Returns the status and the body of the answer; the file of a PUT has the name."""
        extra, body = form(f"{name}.txt", b"new") if method == "PUT" else ({}, None)
        self._connection.request(method, path, body, {"Host": host, **headers, **extra})
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def close(self):
        """Closes the connection."""
        self._connection.close()


@contextlib.contextmanager
def _s3_proxy(folder, document):
    """Runs s3-proxy; yields the port of its server."""
    port = free_port(2)
    ports = {"server": port, "internalServer": port + 1}
    listeners = {name: {"listenAddr": "127.0.0.1", "port": number} for name, number in ports.items()}
    (folder / "conf").mkdir(parents=True)
    shutil.copytree(DEFAULT_PAGES, folder / "templates")  # s3-proxy's image has files of these names
    for page in (folder / "templates").iterdir():  # which know nothing of a path that a proxy took off
        page.write_text(page.read_text().replace("$.Request.PublicPath", '""').replace(".Request.PublicPath", '""'))
    (folder / "templates" / "_helpers.tpl").write_text(built_in([]))
    (folder / "conf" / "all.yaml").write_text(yaml.safe_dump(document | listeners))
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen([_PROGRAM, "--config", f"{folder}/conf/"], cwd=folder, stdout=log, stderr=log)

        def is_up():
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
            return listens(port)

        try:
            eventually(is_up)
            yield port
        finally:
            process.terminate()
            process.wait()


@pytest.fixture(scope="module")
def surroundings():
    """An S3 with a bucket for each target, and an issuer."""
    with real_s3.moto() as s3, running_issuer() as issuer, contextlib.ExitStack() as stack:
        yield [stack.enter_context(new_bucket(s3.url, name)) for name in NAMES], s3.url, issuer


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A running service whose configuration is replaced; a function that loads what was converted."""
    folder = tmp_path_factory.mktemp("converted")
    listeners = "server: {listenAddr: 127.0.0.1, port: 0}\ninternalServer: {listenAddr: 127.0.0.1, port: 0}\n"
    with start_proxy(folder, f"{listeners}targets: {{a: {{mount: {{path: [/]}}, bucket: {{name: one}}}}}}") as proxy:
        admin = Admin.of(proxy)

        def load(files):
            shutil.rmtree(folder / "rules", ignore_errors=True)
            lines = [line for line in files[CONFIGURATION].splitlines() if not line.startswith("internalServer:")]
            server = yaml.safe_load(next(line for line in lines if line.startswith("server:")))
            server["server"] |= {"listenAddr": "127.0.0.1", "port": 0}
            rest = "\n".join(line for line in lines if not line.startswith("server:"))
            text = f"{yaml.safe_dump(server)}internalServer: {{listenAddr: 127.0.0.1, port: 0}}\n{rest}\n"
            save({**files, "proxy.yaml": text}, folder, force=True)
            code, report = admin.reload()
            assert code == 200, report

        yield proxy.address[1], load


def _lets_through(status):
    return 200 <= status < 300


def _paths(document, chosen):
    own = [path for each in document["targets"].values() for path in each["mount"].get("path") or ()]
    return chosen.choice([*PATHS, *own, *(f"{path}a.txt" for path in own), *(f"{path}a/x.txt" for path in own)])


def _requests(seed, document, users):
    """The requests of a configuration: those that change nothing first."""
    chosen = random.Random(-seed)
    hosts = [*HOSTS, *(["elsewhere.test"] * 5)]
    drawn = {
        (chosen.choice(["GET", "GET", "HEAD", "PUT", "DELETE"]), chosen.choice(hosts), _paths(document, chosen), user)
        for _ in range(_REQUESTS // len(users) + 1)
        for user in users
    }
    return sorted(drawn, key=lambda each: (("GET", "HEAD", "PUT", "DELETE").index(each[0]), *each[1:]))


def _excess(request, here, there, client, headers):
    """Why a request is let through only here; None if it is not."""
    method, host, path, _user = request
    if not _lets_through(here[0]):
        return None
    if path == "/list/" and method in ("PUT", "DELETE") and there[0] == 405:
        return None  # the page of all targets answers GET and HEAD only, and a target around it the rest

    def is_as(other):
        return _lets_through(other[0]) and (method != "GET" or path.endswith("/") or here[1] == other[1])

    if is_as(there):
        return None
    bare = host.partition(":")[0]
    others = [(method, bare), (method, f"{bare}:8080")]  # hosts are compared without their ports here
    if there[0] == 404:
        # Other host patterns and the targets of all hosts are tried here.
        others += [(method, "b.test"), (method, "elsewhere.example")]
    if method == "HEAD":
        # A resource for GET covers HEAD, which shows nothing more.
        others += [("GET", each) for _, each in [*others, ("", host)]]
    if any(is_as(client.ask(each, other, path, headers, token_hex(8))) for each, other in others):
        return None
    return f"{request}: {here[0]} {here[1][:40]!r}, s3-proxy {there[0]} {there[1][:40]!r}"


def test_nothing_is_let_through_that_s3_proxy_refuses(surroundings, service, tmp_path):
    """For each method, path, host and user, what is let through here is let through there, and shows the same file."""
    if not _PROGRAM:
        pytest.skip("`S3_PROXY` names no program of s3-proxy")
    buckets, endpoint, issuer = surroundings
    port, load = service
    users, ours = _users(issuer), _Client(port)
    found, counts = [], dict.fromkeys(("configurations", "refused", "requests", "here", "there"), 0)
    for seed in _SEEDS:
        document = _Generator(seed, endpoint, issuer).document()
        with _s3_proxy(tmp_path / str(seed), document) as peer_port, contextlib.closing(_Client(peer_port)) as peer:
            counts["configurations"] += 1
            try:
                converted = convert(read([tmp_path / str(seed) / "conf"]))
            except Unreadable:
                counts["refused"] += 1
                continue
            load(converted.files)
            for bucket, key in product(buckets, KEYS):
                bucket.put(key, f"{bucket.name}: {key}".encode())
            for number, request in enumerate(_requests(seed, document, users)):
                method, host, path, user = request
                there = peer.ask(method, host, path, users[user], f"there-{seed}-{number}")
                here = ours.ask(method, host, path, users[user], f"here-{seed}-{number}")
                counts["requests"] += 1
                counts["here"] += _lets_through(here[0])
                counts["there"] += _lets_through(there[0])
                if excess := _excess(request, here, there, peer, users[user]):
                    found.append(f"seed {seed}: {excess}")
        shutil.rmtree(tmp_path / str(seed))
    ours.close()
    print(counts)
    assert not found, "\n".join(found[:40])
    assert counts["here"] > counts["requests"] // 20, counts
