"""What a reload changed, in words."""

from __future__ import annotations

import pytest
from files import CONFIGURATION, Files

from tornado_proxy.service.changes import changes, fixed_at_start

THREE = 'rewrite a `^/a$` -> "/1"\nrewrite b `^/b$` -> "/2"\nrewrite `^/c$` -> "/3"'


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (THREE, []),
        (THREE + '\nrewrite `^/d$` -> "/4"', ["rewrites: 1 added"]),
        ('rewrite a `^/a$` -> "/1"', ["rewrites: 2 removed"]),
        (THREE.replace('"/3"', '"/33"'), ["rewrites: 1 changed"]),
        (THREE.replace("`^/a$`", "`^/aa$`"), ["rewrites: 1 changed"]),
        ("\n".join(reversed(THREE.splitlines())), ["rewrites: 2 moved"]),
        ('rewrite b `^/b$` -> "/2"\nrewrite `^/c$` -> "/3"\nrewrite a `^/a$` -> "/1"', ["rewrites: 1 moved"]),
        ("# a comment\n" + THREE, []),
    ],
)
def test_rewrites_are_counted_by_what_became_of_them(tmp_path, after, said):
    """A rewrite is known by its name or its source."""
    files = Files.create(tmp_path, site=THREE)
    before = files.load()
    files.write(after)
    assert list(changes(before, files.load())) == [f"target `site`: {line}" for line in said]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("path: [/]", "path: [/m]", "target `site`: mount `/` is now `/m/`"),
        ("some-bucket", "other-bucket", "target `site`: bucket changed"),
        ("mount:", "actions: {PUT: {enabled: true}}\n    mount:", "target `site`: actions changed: GET, HEAD, PUT"),
        ("mount:", "resources: [{path: /**, whiteList: true}]\n    mount:", "target `site`: resources changed"),
    ],
)
def test_targets_say_what_is_different(tmp_path, old, new, said):
    """Mount, bucket, actions and resources are told apart."""
    files = Files.create(tmp_path)
    before = files.load()
    files.configure(CONFIGURATION.replace(old, new))
    assert list(changes(before, files.load())) == [said]


def test_targets_come_and_go(tmp_path):
    """A target that is renamed is one removed and one added."""
    files = Files.create(tmp_path)
    before = files.load()
    files.configure(CONFIGURATION.replace("  site:", "  other:"))
    files.path().write_text("target other {}")
    assert list(changes(before, files.load())) == [
        "target `site` removed",
        "target `other` added: `/`, 0 rewrites",
    ]


def test_listeners_and_threads_are_fixed_at_start(tmp_path):
    """What only a restart changes stays as it runs, and is named."""
    files = Files.create(tmp_path)
    running = files.load().settings
    files.configure(
        CONFIGURATION.replace("{port: 0}", "{port: 81}", 1).replace("{port: 0}", "{port: 82}")
        + "s3: {threads: 7}\nlog: {level: debug}\n"
    )
    settings, kept_back = fixed_at_start(files.load().settings, running)
    assert kept_back == ("server", "internalServer", "s3", "log")
    assert settings.s3 == running.s3
