from linting import findings, places, settings

NAME = "unknown-target"
CONFIGURATION = "targets: {team: {mount: {path: [/]}, bucket: {name: files, region: eu-west-1}}}"


def test_without_a_configuration_nothing_is_known():
    """Any target is as good as another."""
    assert places(NAME, "rewrite `^/a$` -> `/b`") == []


def test_a_target_that_the_configuration_does_not_name():
    """It is found as the daemon finds it."""
    (found,) = findings(NAME, "", settings(CONFIGURATION))
    assert found.message == "the configuration knows no target `site`"


def test_a_target_that_the_configuration_names():
    """It is left alone."""
    assert places(NAME, "", settings(CONFIGURATION.replace("team", "site"))) == []
