from tornado_proxy.config.nodes import Kind
from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.tools.convert.given import Items, Option, Options, Scalar, merged, without_nothing

PLACE = Span(SourceFile("conf.yaml", "a\n"), 0, 1)
ONE, TWO = Scalar("1", Kind.STRING, PLACE), Scalar("2", Kind.STRING, PLACE)
NOTHING = Scalar("", Kind.NOTHING, PLACE)


def _options(**values):
    return Options({name: Option(name, PLACE, value) for name, value in values.items()}, PLACE)


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
    assert "hush" not in repr(_options(a=Scalar("hush", Kind.STRING, PLACE)))
