import yaml
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.tools.convert.configuration_text import Noted, configuration_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    [
        "yes",
        "1",
        "~",
        "a: b",
        "# x",
        "",
        "null",
        "2024-01-01",
        "*a",
        "5GiB",
        "\x85",
        "\ufeff",
        "a/b",
        "-",
        "1e3",
        "0x1",
        ".inf",
    ]
)
SETTINGS = st.dictionaries(
    TEXTS,
    st.recursive(
        TEXTS | st.booleans() | st.integers(),
        lambda inner: (
            st.lists(TEXTS)
            | st.lists(st.dictionaries(TEXTS, inner, min_size=1), max_size=3)
            | st.dictionaries(TEXTS, inner)
        ),
        max_leaves=8,
    ),
    min_size=1,
)


@given(SETTINGS)
def test_yaml_reads_what_was_written(settings):
    """Whatever the names and texts are."""
    assert yaml.safe_load(configuration_text(settings, ["made by hand"])) == settings


def test_the_layout_is_one_for_people():
    """Short mappings stand on a line, lists of mappings below one another, comments above what they speak of."""
    text = configuration_text(
        {
            "server": {"listenAddr": "", "port": 80},
            "targets": {"a": Noted({"b": {"c": 1, "d": {"e": "f"}}}, ("look\nhere",))},
            "resources": [{"path": "/**", "methods": ["GET"], "x": True}, {"path": "/b"}],
        },
        ["opening", ""],
    )
    assert text == (
        "# opening\n#\n\n"
        'server: {listenAddr: "", port: 80}\n'
        "targets:\n  # look here\n  a:\n    b:\n      c: 1\n      d: {e: f}\n"
        'resources:\n  - path: "/**"\n    methods: [GET]\n    x: true\n  - {path: /b}\n'
    )
