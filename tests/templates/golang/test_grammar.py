import pytest

from tornado_proxy.templates.golang.grammar import action_parser, grammar_text


def test_the_grammar_is_found_in_the_first_folder_that_has_it(tmp_path):
    """A wheel has it in the package, a checkout beside it."""
    (tmp_path / "gotemplate.lark").write_text('start: "x"\n', encoding="utf-8")
    assert grammar_text([tmp_path / "no", tmp_path]) == 'start: "x"\n'


def test_an_installation_without_the_grammar_says_so(tmp_path):
    """It could read no template."""
    with pytest.raises(FileNotFoundError, match=r"gotemplate\.lark"):
        grammar_text([tmp_path])


def test_the_parser_is_made_once():
    """All templates share it."""
    assert action_parser() is action_parser()
