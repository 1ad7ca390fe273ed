import pytest
from go_programs import mistake

from tornado_proxy.templates.golang.sprig.refused import REFUSED
from tornado_proxy.templates.golang.template import vocabulary


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_cannot_be_repeated_is_refused_with_the_reason(name):
    """When the rules are loaded, not when a request comes."""
    assert str(mistake(f"{{{{ {name} }}}}", vocabulary())) == f"the function `{name}` is refused: {REFUSED[name]}"


def test_no_function_is_both_there_and_refused():
    """The tables do not overlap."""
    assert not set(REFUSED) & set(vocabulary().functions)
