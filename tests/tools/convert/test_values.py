from __future__ import annotations

from decimal import Decimal

import pytest
from conversions import target

from tornado_proxy.tools.convert.report import OptionOutcome
from tornado_proxy.tools.convert.values import parsed_duration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("15m", 900),
        ("1h30m", 5400),
        ("+1.5s", "1.5"),
        ("1.s", 1),
        (".5s", "0.5"),
        ("300ms", "0.3"),
        ("1µs", "0.000001"),
        ("5ns", "0.000000005"),
        ("-1h", -3600),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text, expected):
    """Parts with units, one after another."""
    assert parsed_duration(text) == Decimal(expected)


@pytest.mark.parametrize("text", ["", "5", "1d", "--1s", "1h 2m", "s", "1.5", ".s"])
def test_what_is_no_duration_is_none(text):
    """A number without a unit is not a duration."""
    assert parsed_duration(text) is None


def _with_password(text):
    return target(
        f"resources: [{{path: /**, provider: staff, basic: {{credentials: [{{user: ann, password: {text}}}]}}}}]"
    )


def test_no_secret_shows_in_the_report():
    """It stands in the configuration only, as it did."""
    done = _with_password("{value: hush}")
    assert "hush" in done.files["tornado-proxy.yaml"]
    assert not any("hush" in f"{each.message}{each.help}" for each in done.report.remarks)


def test_a_relative_path_starts_elsewhere():
    """From the configuration file, not from where the service was started."""
    (message,) = _with_password("{path: secrets/ann}").messages(OptionOutcome.CHANGED)
    assert message.startswith("`secrets/ann` starts from the directory of the configuration file")


def test_a_password_that_looks_like_a_hash_is_left_out():
    """It would be taken for one, and whatever it is a hash of would let somebody in."""
    done = _with_password("{value: $2b$04$abc}")
    assert "the password looks like a hash, and would be taken for one" in done.messages(OptionOutcome.LEFT_OUT)
    assert done.report.closed_targets == ("site",)


def test_a_variable_that_cannot_be_named_here_is_left_out():
    """And with it the user whose password it held, so that nobody may."""
    done = _with_password("{env: 'A-B'}")
    assert "this is not the name of a variable here" in done.messages(OptionOutcome.LEFT_OUT)
    assert done.report.closed_targets == ("site",)
