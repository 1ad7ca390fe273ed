"""Reports of the changes of a reload."""

import pytest
from files import CONFIGURATION, Files

from tornado_proxy.service.reloading import changes, fixed_at_start

THREE_REWRITES = 'rewrite a `^/a$` -> "/1"\nrewrite b `^/b$` -> "/2"\nrewrite `^/c$` -> "/3"'


EQUAL_REWRITES = 'rewrite `^/a$` -> "/1"\nrewrite `^/a$` -> "/1"'


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (THREE_REWRITES, THREE_REWRITES, []),
        (THREE_REWRITES, THREE_REWRITES + '\nrewrite `^/d$` -> "/4"', ["rewrites added: `#4` (rules/site.rules:5)"]),
        (
            THREE_REWRITES,
            'rewrite a `^/a$` -> "/1"',
            ["rewrites removed: `b` (rules/site.rules:3), `#3` (rules/site.rules:4)"],
        ),
        (THREE_REWRITES, THREE_REWRITES.replace('"/3"', '"/33"'), ["rewrites changed: `#3` (rules/site.rules:4)"]),
        (THREE_REWRITES, THREE_REWRITES.replace("`^/a$`", "`^/aa$`"), ["rewrites changed: `a` (rules/site.rules:2)"]),
        (THREE_REWRITES, "# a comment\n" + THREE_REWRITES, []),
        (
            THREE_REWRITES,
            'rewrite a `^/a$` -> "/x"\nrewrite `^/c$` -> "/3"\nrewrite n `^/n$` -> "/n"',
            [
                "rewrites added: `n` (rules/site.rules:4)",
                "rewrites removed: `b` (rules/site.rules:3)",
                "rewrites changed: `a` (rules/site.rules:2)",
            ],
        ),
        (THREE_REWRITES, "\n".join(reversed(THREE_REWRITES.splitlines())), ["the order of the rewrites changed"]),
        (EQUAL_REWRITES, EQUAL_REWRITES + '\nrewrite `^/a$` -> "/1"', ["rewrites added: `#3` (rules/site.rules:4)"]),
    ],
)
def test_rewrites_are_added_removed_or_changed(tmp_path, before, after, expected):
    """A rewrite is identified by its name or its source; equal ones are paired in order; the first that matches decides."""
    files = Files.create(tmp_path, site=before)
    in_force = files.load()
    files.write(after)
    assert list(changes(in_force, files.load())) == [f"target `site`: {line}" for line in expected]


def test_many_rewrites_are_shortened(tmp_path):
    files = Files.create(tmp_path)
    before = files.load()
    files.write("\n".join(f'rewrite r{number} `^/{number}$` -> "/x"' for number in range(100)))
    (line,) = changes(before, files.load())
    assert line.startswith("target `site`: rewrites added: `r0` (rules/site.rules:2), `r1` ")
    assert line.endswith("`r4` (rules/site.rules:6) and 95 more")


ACTIONS = "actions: {PUT: {enabled: true, config: {maxSize: 1MiB}}}\n    mount:"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("path: [/]", "path: [/m], host: h", ["target `site` changed: mount.host, mount.path"]),
        ("some-bucket", "other-bucket", ["target `site` changed: bucket.name"]),
        (
            "region: eu-west-1",
            "disableSSL: true, s3ForcePathStyle: true, s3ListMaxKeys: 7",
            ["target `site` changed: bucket.region, bucket.disableSSL, bucket.s3ForcePathStyle, bucket.s3ListMaxKeys"],
        ),
        ("mount:", ACTIONS, ["target `site` changed: actions.PUT.enabled, actions.PUT.config.maxSize"]),
        ("mount:", "resources: [{path: /**, whiteList: true}]\n    mount:", ["target `site` changed: resources"]),
        ("mount:", "cache: {maxAge: 5s}\n    mount:", ["target `site` changed: cache"]),
        ("{port: 0}", "{port: 0, gracePeriod: 5s}", ["changed: server.gracePeriod"]),
        (
            "rules:",
            "limits: {maxHeaderSize: 1KiB, idleTimeout: 5s}\ns3: {threads: 1, queue: 1, connections: 1, resumes: 1}\nrules:",
            ["changed: limits.maxHeaderSize, limits.idleTimeout, s3.threads, s3.queue, s3.resumes and 1 more"],
        ),
        ("rules: [rules]", "rules: [rules/site.rules]", ["changed: rules"]),
        ("{port: 0}", "{port: 0, cors: {enabled: true}}", ["changed: server.cors"]),
        ("rules:", "authProviders: {basic: {staff: {realm: Staff}}}\nrules:", ["changed: authProviders.basic.staff"]),
    ],
)
def test_changed_options_are_named(tmp_path, old, new, expected):
    files = Files.create(tmp_path)
    before = files.load()
    files.configure(CONFIGURATION.replace(old, new, 1))
    after = files.load()
    assert list(changes(before, after)) == expected


def test_a_new_order_is_named(tmp_path):
    files = Files.create(tmp_path)
    files.configure("authProviders: {basic: {a: {realm: A}, b: {realm: B}}}\n" + CONFIGURATION)
    before = files.load()
    files.configure("authProviders: {basic: {b: {realm: B}, a: {realm: A}}}\n" + CONFIGURATION)
    assert list(changes(before, files.load())) == ["changed: authProviders.basic"]


def test_no_secret_is_reported(tmp_path):
    staff = "authProviders: {basic: {staff: {realm: Staff}}}\nrules:"
    team = "resources: [{path: /**, provider: staff, basic: {credentials: [{user: ann, password: {value: OLDpass1}}]}}]\n    mount:"
    text = CONFIGURATION.replace("rules:", staff).replace("mount:", team)
    files = Files.create(tmp_path)
    files.configure(text)
    before = files.load()
    files.configure(text.replace("OLDpass1", "NEWpass2"))
    (tmp_path / "secret").write_text("0ther\n")
    assert list(changes(before, files.load())) == [
        "target `site` changed: bucket.credentials.secretKey, resources[0].basic.credentials[0].password"
    ]


def test_a_renamed_target_is_removed_and_added(tmp_path):
    files = Files.create(tmp_path)
    before = files.load()
    files.configure(CONFIGURATION.replace("  site:", "  other:"))
    files.path().write_text("target other {}")
    assert list(changes(before, files.load())) == ["targets removed: `site`", "target `other` added: 0 rewrites"]


def test_the_order_of_targets_is_reported(tmp_path):
    """A new order is a change, since the first of two targets on a mount answers."""
    site = CONFIGURATION[CONFIGURATION.index("  site:") :]
    other = site.replace("site:", "other:").replace("[/]", "[/o]")
    files = Files.create(tmp_path)
    head = CONFIGURATION.removesuffix(site)
    files.configure(head + site + other)
    before = files.load()
    files.configure(head + other + site)
    assert list(changes(before, files.load())) == ["the order of the targets changed"]


def test_some_sections_are_fixed_at_start(tmp_path):
    files = Files.create(tmp_path)
    at_start = files.load().settings
    files.configure(
        CONFIGURATION.replace("{port: 0}", "{port: 81}", 1).replace("{port: 0}", "{port: 82}")
        + "s3: {threads: 7}\nlog: {level: debug}\ntracing: {endpoint: 'http://127.0.0.1:4318/v1/traces'}\n"
    )
    configuration = fixed_at_start(files.load(), at_start)
    settings = configuration.settings
    assert configuration.kept_back == ("server", "internalServer", "s3", "log", "tracing")
    assert (settings.s3, settings.log, settings.tracing) == (at_start.s3, at_start.log, at_start.tracing)
