import doctest

from tornado_proxy.lint import automata


def test_the_examples_of_the_package_are_true():
    """What the package's page shows is what its functions answer."""
    assert doctest.testmod(automata) == doctest.TestResults(failed=0, attempted=5)
