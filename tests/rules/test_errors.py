import pytest
from rule_texts import document

from tornado_proxy.rules.compiler import compile_documents
from tornado_proxy.rules.errors import RefusedResult, RewriteError, TemplateFailed, UserRequired

REWRITE = compile_documents([document('target site { rewrite home `^/a$` -> "/b" }')]).rule_sets["site"].rewrites[0]


@pytest.mark.parametrize(
    "error",
    [
        RefusedResult("the result is empty", REWRITE, ""),
        UserRequired("the template reads `user.name`, but nobody is signed in", REWRITE),
        TemplateFailed("division by zero", REWRITE),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_names_the_rewrite_that_it_happened_in(error):
    """Whoever logs it can say which rule failed, and why."""
    assert isinstance(error, RewriteError)
    assert error.rewrite.label == "home"
    assert str(error)


def test_a_refused_result_can_be_shown():
    """The text that is no key is kept for explanations."""
    assert RefusedResult("the result contains a control character", REWRITE, "/a\n").result == "/a\n"
