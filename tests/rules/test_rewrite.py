import pytest
from rule_sites import rule_sets


def _rewrites(statement):
    return rule_sets(f"target site {{ {statement} }}")["site"].rewrites


@pytest.mark.parametrize(("name", "label"), [("press", "press"), ("", "#1")])
def test_a_rewrite_is_called_by_its_name_or_its_number(name, label):
    """Logs, metrics and explain show it so."""
    (rewrite,) = _rewrites(f'rewrite {name} `^/a$` -> "/b"')
    assert (rewrite.number, rewrite.label) == (1, label)


def test_a_rewrite_knows_its_place():
    """From `rewrite` to the end of its template."""
    (rewrite,) = _rewrites('rewrite `^/a$` -> "/b"')
    assert rewrite.span.text == 'rewrite `^/a$` -> "/b"'
