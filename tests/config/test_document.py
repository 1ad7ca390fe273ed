import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.document import MappingNode, ScalarKind, SequenceNode, compose
from tornado_proxy.config.limits import DEEPEST_DOCUMENT, MOST_NODES


def _data(node):
    """Returns the data of a node as dictionaries, lists and scalars."""
    match node:
        case MappingNode():
            return {name: _data(entry.value) for name, entry in node.fields.items()}
        case SequenceNode():
            return [_data(item) for item in node.items]
        case _:
            return node.data


def _faults(text):
    return [(fault.code, fault.message, text[fault.start : fault.end]) for fault in compose(text).faults]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("abc", ScalarKind.STRING),
        ("'no'", ScalarKind.STRING),
        ('"1"', ScalarKind.STRING),
        ("!!str 1", ScalarKind.STRING),
        ("=", ScalarKind.STRING),
        ("|\n  1\n", ScalarKind.STRING),
        ("no", ScalarKind.BOOLEAN),
        ("On", ScalarKind.BOOLEAN),
        ("0", ScalarKind.INTEGER),
        ("-12", ScalarKind.INTEGER),
        ("012", ScalarKind.ODD_NUMBER),
        ("1_000", ScalarKind.ODD_NUMBER),
        ("0x1F", ScalarKind.ODD_NUMBER),
        ("1:30", ScalarKind.ODD_NUMBER),
        ("9" * 19, ScalarKind.ODD_NUMBER),
        ("1.5", ScalarKind.FRACTION),
        (".inf", ScalarKind.ODD_NUMBER),
        ("~", ScalarKind.NOTHING),
        ("2024-01-01", ScalarKind.DATE),
    ],
)
def test_a_scalar_has_its_kind_in_yaml_1_1(text, kind):
    """A scalar has the kind that PyYAML resolves, except for a number that is not plain decimal."""
    assert compose(text).root.kind is kind


def test_a_node_has_its_place():
    """The offsets of a node are right after wide characters, CRLF and comments."""
    text = "😀: 'é' # ü\r\nb: [x,  yy]\r\n"
    entries = compose(text).root.entries
    texts = [text[node.start : node.end] for entry in entries for node in entry]
    assert texts == ["😀", "'é'", "b", "[x,  yy]"]


def test_a_block_mapping_ends_with_its_last_value():
    """Empty lines and comments after a block mapping don't belong to it."""
    text = "a:\n  b: c\n\n# comment\nd: e\n"
    inner = compose(text).root.entries[0].value
    assert text[inner.start : inner.end] == "b: c"


@pytest.mark.parametrize("text", ["", "# nothing\n", "--- # nothing"])
def test_an_empty_text_has_no_fault(text):
    composed = compose(text)
    assert composed.faults == ()
    assert composed.root is None or composed.root.kind is ScalarKind.NOTHING


@pytest.mark.parametrize(
    ("text", "message", "marked_text"),
    [
        ("? \n: 1", "a key is missing here", ""),
        ("<<: [{}, 1]", "`<<` takes a mapping or a list of mappings", "<<"),
        ("a: &b [*b]", "the alias refers to the collection that contains it", "&b [*b]"),
        ("a: !!python/object:os.system {}", "a tag has no meaning here", "!!python/object:os.system {}"),
    ],
)
def test_a_fault_has_its_place(text, message, marked_text):
    ((_, fault, fault_text),) = _faults(text)
    assert (fault, fault_text) == (message, marked_text)


def test_each_document_has_a_node_of_its_own():
    """No document is taken for one before it, whose text would then be hidden in place of its own."""
    text = "--- a\n" * 10
    assert [each.start for each in compose(text).documents] == [*range(4, len(text), 6)]


def test_a_duplicate_key_has_a_note_at_the_first():
    (fault,) = compose("a: 1\na: 2").faults
    assert fault.note == ("first given here", 0, 1)


def test_a_syntax_error_ends_the_composing():
    composed = compose("a: 1\nb: [c\n")
    assert not composed.whole
    assert composed.documents == ()
    assert [(fault.code, fault.start, fault.note) for fault in composed.faults] == [
        ("yaml-syntax", 11, ("it begins here", 8, 9))
    ]


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "? " * 100_000])
def test_deep_nesting_is_refused(text):
    composed = compose(text)
    assert not composed.whole
    assert f"deeper than {DEEPEST_DOCUMENT} levels" in composed.faults[0].message


def test_the_number_of_values_by_aliases_is_limited():
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    composed = compose("\n".join(lines))
    assert not composed.whole
    assert f"more than {MOST_NODES} values" in composed.faults[-1].message


def test_the_nesting_by_aliases_is_limited():
    """A chain of anchors, each inside the next one, counts as nesting."""
    lines = ["a0: &a0 []", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 200))]
    assert f"deeper than {DEEPEST_DOCUMENT} levels" in compose("\n".join(lines)).faults[0].message


def test_an_alias_is_the_node_of_its_anchor():
    root = compose("a: &x {b: 1}\nc: *x\nd: *x").root
    assert root.fields["c"].value is root.fields["a"].value
    assert root.fields["d"].value is root.fields["a"].value


@given(st.text(alphabet="ab:-?[]{}#&*!|>'\"%@`,\\ \n\t\r0.~<é😀\x85\u2028\ufeff\x00", max_size=60))
def test_any_text_has_nodes_or_faults(text):
    composed = compose(text)
    assert composed.whole or composed.faults


_DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(_DATA, st.booleans())
def test_composing_reads_what_pyyaml_writes(data, flow):
    """Nodes of JSON-like data have the data that PyYAML's own loader reads."""
    text = yaml.safe_dump(data, allow_unicode=True, default_flow_style=flow)
    composed = compose(text)
    assert composed.faults == ()
    assert _data(composed.root) == yaml.safe_load(text)


def _root(text):
    return compose(text).root


def test_the_first_of_two_equal_keys_counts():
    assert _root("a: 1\na: 2").fields["a"].value.data == 1


def test_a_merge_adds_missing_fields():
    """`<<` adds the fields of other mappings, the first mapping first, and never replaces a field."""
    text = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz:\n  <<: [*x, *y]\n  a: 0\n"
    fields = _root(text).fields["z"].value.fields
    assert {name: entry.value.data for name, entry in fields.items()} == {"a": 0, "b": 1, "c": 2}


def test_a_merge_conflict_is_reported():
    """Each marker of a version control system is a fault, and no other fault of the file is reported."""
    text = "log:\n<<<<<<< HEAD\n  level: info\n=======\n  level: debug\n>>>>>>> other\n"
    messages = [f"merge conflict marker `{marker}`" for marker in ("<<<<<<<", "=======", ">>>>>>>")]
    assert [message for _, message, _ in _faults(text)] == messages


@pytest.mark.parametrize("text", ["a: |\n  =======\n", "a: <<<<<<< b", "========"])
def test_markers_within_a_value_are_not_a_conflict(text):
    assert _faults(text) == []
