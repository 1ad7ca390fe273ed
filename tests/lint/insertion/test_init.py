from tornado_proxy.lint.insertion import HEADER, Insertion


def test_an_insertion_is_a_noun_with_a_place():
    """It reads as what a message says is inserted."""
    assert Insertion(HEADER, 4, 9) == ("a header", 4, 9)
