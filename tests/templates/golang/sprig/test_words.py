import pytest
from go_programs import rendered


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ('title "hello wORLD-x_y é"', "Hello WORLD-X_y É"),
        ('title "日 a"', "日 A"),
        ('title "a\\u2003b“c"', "A\u2003B“c"),
        ('untitle "Hello WORLD É"', "hello wORLD é"),
        ('swapcase "Hello wORLD ǅ1"', "hELLO World ǆ1"),
        ('initials "Hello big-world é"', "HbÃ"),
        ('nospace " a b\\tc"', "abc"),
        ('nospace "aé"', "aé"),
        ('nospace "a é"', "aÃ©"),
    ],
)
def test_letters_change_with_their_word(call, result):
    """Some functions of sprig treat bytes as runes."""
    assert rendered(f"{{{{ {call} }}}}") == result


@pytest.mark.parametrize(
    ("text", "camel"),
    [
        ("some_words", "SomeWords"),
        ("http_server", "HttpServer"),
        ("_complex__case_", "_Complex_Case_"),
        ("GOLANG_IS_GREAT", "GolangIsGreat"),
        ("some words-here", "SomeWordsHere"),
        ("a", "A"),
        ("", ""),
        ("_", "__"),
        ("__", "___"),
        ("HTTPServer", "Httpserver"),
        ("aB", "AB"),
    ],
)
def test_camelcase_joins_words(text, camel):
    """Capitals after a capital become lower case."""
    assert rendered("{{ camelcase .t }}", {"t": text}) == camel


@pytest.mark.parametrize(
    ("text", "snake"),
    [
        ("FirstName", "first_name"),
        ("HTTPServer", "http_server"),
        ("NoHTTPS", "no_https"),
        ("GO_PATH", "go_path"),
        ("GO PATH", "go_path"),
        ("http2xx", "http_2xx"),
        ("HTTP20xOK", "http_20x_ok"),
        ("Duration2m3s", "duration_2m3s"),
        ("Bld4Floor3rd", "bld4_floor_3rd"),
        ("", ""),
        ("a", "a"),
        ("a1", "a1"),
        ("a1-b", "a1_b"),
        ("1A", "1_a"),
        ("1a2B", "1a2_b"),
        ("a.b", "a.b"),
        ("a1.b", "a1.b"),
        ("A!B", "a!b"),
        ("a.-b.-_", "a.-b.-_"),
        (". -b-.", ".__b_."),
        ("日本A", "日本_a"),
        ("a日", "a_日"),
        ("--a  b", "__a__b"),
        ("ABCd", "ab_cd"),
        ("A1A", "a1_a"),
    ],
)
def test_snakecase_parts_words(text, snake):
    """Numbers belong to the word before them, or to lower case after them."""
    assert rendered("{{ snakecase .t }}", {"t": text}) == snake


def test_kebabcase_is_the_same_with_dashes():
    """Its result is that of snakecase with another connector."""
    assert rendered('{{ kebabcase "some_thing Else" }}') == "some-thing-else"


@pytest.mark.parametrize(
    ("literal", "quoted"),
    [
        ('"é\\xffz"', '"é\\xffz"'),
        ('"A\\xffB"', '"a�b"'),
        ('"\\xff"', '"\\xff"'),
        ('"_\\xff_"', '"_�_"'),
        ('"a\\xff"', '"a\\xff"'),
    ],
)
def test_bytes_that_are_no_letters_belong_to_the_word_after_them(literal, quoted):
    """They stay unchanged except among capitals and connectors."""
    assert rendered(f"{{{{ snakecase {literal} | quote }}}}") == quoted
