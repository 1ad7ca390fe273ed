import pytest
from go_programs import HELM, mistake

from tornado_proxy.templates.golang.sprig.refused import REFUSED


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_cannot_be_repeated_is_refused_with_the_reason(name):
    """When the rules are loaded, not when a request comes."""
    assert str(mistake(f"{{{{ {name} }}}}")) == f"the function `{name}` is refused: {REFUSED[name]}"


def test_no_function_is_both_there_and_refused():
    """The tables do not overlap."""
    assert not set(REFUSED) & set(HELM.functions)
