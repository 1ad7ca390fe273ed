import pytest
from conversions import converted_target

from tornado_proxy.rules.diagnostic import SourceFile, Span
from tornado_proxy.rules.tree import Dialect
from tornado_proxy.tools.convert.options import OptionOutcome
from tornado_proxy.tools.convert.rewrites import KeysAs, RewriteEntry, Surroundings, converted


def test_a_rewrite_that_calls_a_helper_is_converted():
    """The converted rewrite makes the same keys as in s3-proxy."""
    text = """
keyRewriteList:
  - source: ^input.*$
    target: '{{ template "main.userIdentifier" . }}'
    targetType: TEMPLATE
"""
    conversion = converted_target(text)
    assert conversion.messages(OptionOutcome.LEFT_OUT, OptionOutcome.CLOSED) == []
    assert conversion.rule_sets["site"].rewrite("/input/a", user="ann").key == "/ann"


SOURCE = SourceFile("conf.yaml", "1\n2\n3\n4\n")


def _results(*pairs, prefix="", keys_as=KeysAs.ACTUAL):
    entries = [
        RewriteEntry(source, text, dialect[0] if dialect else Dialect.PLAIN, Span(SOURCE, 2 * number, 2 * number))
        for number, (source, text, *dialect) in enumerate(pairs)
    ]
    return converted(entries, Surroundings(prefix, prefix), keys_as)


def test_a_rewrite_that_may_match_keys_of_a_left_out_one_is_left_out():
    """s3-proxy would not try it for those keys, and the same applies to later rewrites."""
    first, second, third, fourth = _results(("^a(.*)", "b/$1"), ("^ab", "c"), ("^x", "y"), ("^a?b", "z"))
    assert first.is_left_out
    assert second.reason == "it may take keys of an earlier entry that is left out, at conf.yaml:1"
    assert (third.written.source, third.written.target) == ("^/x", "/y")
    assert fourth.is_left_out


def test_no_rewrite_after_an_unconvertible_source_is_converted():
    """The keys of the source are unknown, so any later rewrite might match them."""
    first, second = _results(("^a|b", "c"), ("^x", "y"))
    assert first.is_left_out
    assert second.reason == "it may take keys of an earlier entry that is left out, at conf.yaml:1"


def test_a_rewrite_that_never_applies_affects_no_later_one():
    """s3-proxy never applies it, so later rewrites are converted."""
    first, second = _results(("^/a", "/b"), ("^a", "c"))
    assert not first.is_needed
    assert (second.written.source, second.written.target) == ("^/a", "/c")


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (("(", "x"), "the source cannot be converted: unclosed group"),
        (("a", "{{ nope }}", Dialect.GO), "the target cannot be converted: unknown function `nope`"),
        (("a", "{{ env }}", Dialect.GO), "the target cannot be converted: the function `env` is refused"),
    ],
)
@pytest.mark.parametrize("keys_as", KeysAs)
def test_an_invalid_rewrite_is_left_out(pair, reason, keys_as):
    """In both readings, the reason is that of the compiler."""
    (result,) = _results(pair, keys_as=keys_as)
    assert result.reason.startswith(reason)


def test_no_rewrite_below_a_prefix_with_an_empty_segment_is_converted():
    """s3-proxy's code makes another key than the one that its SDK requests."""
    (result,) = _results(("a", "b"), prefix="x//y/")
    assert "the prefix has an empty segment" in result.reason


def test_rewrites_read_as_documented_are_unchanged():
    """Keys with a leading slash and no prefix are the keys here."""
    done = _results(("^/a//$", "$0//b"), ("x", "{{ .Key }}", Dialect.GO), prefix="p/", keys_as=KeysAs.DOCUMENTED)
    assert [each.written for each in done] == [each.original for each in done]


def test_an_unknown_target_type_is_a_template():
    """s3-proxy's code reads an unknown type as a template, too."""
    conversion = converted_target("keyRewriteList: [{source: ^a$, target: b, targetType: regex}]")
    assert conversion.messages(OptionOutcome.CHANGED) == [
        "`regex` is not a type; it is read as `TEMPLATE`, as by s3-proxy's code"
    ]
    assert "-> go" in conversion.files["rules/site.rules"]


def test_control_characters_of_a_rewrite_do_not_end_its_comment():
    """The rest of a rule file is shown by the golden files."""
    conversion = converted_target('keyRewriteList: [{source: "^\\t`x$", target: "a\\u2028b"}]')
    assert "    # It was: ^ `x$ -> a b\n" in conversion.files["rules/site.rules"]
