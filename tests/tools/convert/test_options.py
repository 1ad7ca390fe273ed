from __future__ import annotations

from decimal import Decimal

import pytest
from conversions import target

from tornado_proxy.config.document import ScalarKind
from tornado_proxy.lang.diagnostic import SourceFile, Span
from tornado_proxy.tools.convert.conversion import merged, together, without_nothing
from tornado_proxy.tools.convert.options import (
    Items,
    OptionOutcome,
    Options,
    Scalar,
    Section,
    SourceOption,
    Unreadable,
    parsed_duration,
)

PLACE = Span(SourceFile("conf.yaml", "a\n"), 0, 1)
ONE, TWO = Scalar("1", ScalarKind.STRING, PLACE), Scalar("2", ScalarKind.STRING, PLACE)
NOTHING = Scalar("", ScalarKind.NOTHING, PLACE)


def _options(**values):
    return Options({name: SourceOption(name, PLACE, value) for name, value in values.items()}, PLACE)


def test_a_mapping_takes_the_place_of_what_is_none():
    """Only two mappings add up."""
    assert merged(_options(a=ONE, b=ONE), _options(a=_options(c=TWO))) == _options(a=_options(c=TWO), b=ONE)
    assert merged(_options(a=_options(b=ONE)), _options(a=_options(c=TWO))) == _options(a=_options(b=ONE, c=TWO))


def test_what_says_nothing_is_dropped_however_deep():
    """And with it the mappings that hold nothing else."""
    given = _options(a=NOTHING, b=_options(c=_options()), d=_options(e=NOTHING, f=ONE), g=Items((NOTHING,), PLACE))
    assert without_nothing(given) == _options(d=_options(f=ONE), g=Items((NOTHING,), PLACE))


def test_a_value_may_be_a_secret():
    """Its text stays out of the `repr`."""
    assert "hush" not in repr(_options(a=Scalar("hush", ScalarKind.STRING, PLACE)))


def _section(text):
    return Section(together([SourceFile("conf.yaml", text)]))


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("'true'", True), ("1", True), ("F", False), ("''", False)]
)
def test_a_boolean_is_read_as_go_reads_it(text, value):
    """A quoted one counts as well; so does a number."""
    assert _section(f"a: {text}").flag("a", default=not value) is value


def test_what_is_not_given_has_its_default():
    """Defaults are the caller's."""
    root = _section("other: 1")
    assert (
        root.text("a"),
        root.flag("a"),
        root.whole("a", 7),
        root.texts("a"),
        root.section("a"),
        root.sections("a"),
    ) == (
        "",
        False,
        7,
        [],
        None,
        [],
    )


@pytest.mark.parametrize(
    ("text", "values"), [("[x, y]", ["x", "y"]), ("x", ["x"]), ("'/a/,/b/'", ["/a/", "/b/"]), ("''", [])]
)
def test_a_list_of_texts_may_be_one_text(text, values):
    """Without brackets, it is cut at its commas."""
    assert [each.value for each in _section(f"a: {text}").texts("a")] == values


@pytest.mark.parametrize(
    ("text", "ask", "message"),
    [
        ("a: yes", lambda root: root.flag("a"), "conf.yaml:1: `a` is not a boolean that s3-proxy would read"),
        ("\na: x", lambda root: root.whole("a", 1), "conf.yaml:2: `a` is not a whole number"),
        ("a: [x]", lambda root: root.text("a"), "`a` is a single value"),
        ("a: {b: c}", lambda root: root.texts("a"), "`a` is a list of texts"),
        ("a: {b: [c]}", lambda root: root.section("a").section("b"), "`a.b` is a mapping"),
        ("a: [x]", lambda root: root.sections("a"), "`a` is a mapping"),
    ],
)
def test_a_value_of_another_type_is_refused(text, ask, message):
    """s3-proxy would not start with it either."""
    with pytest.raises(Unreadable) as refused:
        ask(_section(text))
    assert message in str(refused.value)


def test_what_nobody_asked_for_is_left_over():
    """Here and below, with its path and place; what was asked for twice is one section."""
    root = _section("a: {b: 1, c: 2}\nd: [{e: 1, f: 2}]\ng: 1")
    for _ in range(2):
        root.section("a").text("b")
        root.sections("d")[0].text("E")
    assert [(each.path, each.place.first.line) for each in root.leftovers()] == [("a.c", 1), ("d.f", 2), ("g", 3)]


def test_what_is_settled_leaves_nothing_over():
    """Where all has been said of a section, its options need no remarks of their own."""
    root = _section("a: {b: 1}")
    root.section("a").settle()
    assert list(root.leftovers()) == []


def test_places_are_those_of_names():
    """An option that is not given has the place of its section."""
    root = _section("x: 1\na:\n  b: 1")
    assert root.section("a").place("b").first == (3, 3)
    assert root.section("a").place("c") == root.section("a").span


def test_names_that_are_the_users_are_given_in_lower_case():
    """As s3-proxy sees them."""
    assert [(name, each.path) for name, each in _section("a: {Site: {b: 1}}").section("a").named()] == [
        ("site", "a.site")
    ]


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
