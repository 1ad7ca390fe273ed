from conversions import target


def test_a_rule_file_tells_where_its_rules_come_from():
    """In its canonical layout, with what is left out in comments, in the order of the list."""
    done = target(
        "keyRewriteList:\n"
        "- {source: ^a$, target: b}\n"
        "- {source: ^/c$, target: d}\n"
        "- {source: z, target: /y}\n"
        "- {source: ^k(.*), target: 'm/$1'}\n"
        '- {source: "^\\t`x$", target: "a\\u2028b"}\n'
    )
    assert done.files["rules/site.rules"] == (
        "target site {\n"
        "    # From 0.yaml:7.\n"
        "    # It was: ^a$ -> b\n"
        '    rewrite `^/a$` -> "/b"\n'
        "\n"
        "    # Not needed, 0.yaml:8: no key that s3-proxy makes of a path matches it\n"
        "    # It was: ^/c$ -> d\n"
        "\n"
        "    # From 0.yaml:9.\n"
        '    rewrite `z` -> "/y"\n'
        "\n"
        "    # LEFT OUT, 0.yaml:10: the target cannot be carried over: between `/m/` and `$1` an empty segment, `//`, may"
        " come to be, which s3-proxy's SDK takes out (let the slash stand either in the group or beside it)\n"
        "    # It was: ^k(.*) -> m/$1\n"
        "\n"
        "    # Not needed, 0.yaml:11: no key that s3-proxy makes of a path matches it\n"
        "    # It was: ^ `x$ -> a b\n"
        "}\n"
    )
