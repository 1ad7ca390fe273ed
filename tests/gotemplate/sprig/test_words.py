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
def test_the_case_of_words_is_changed(call, result):
    """Functions that treat bytes as runes in sprig do the same here."""
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
    """Capitals after a capital are lower case in camel case."""
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
        ("Abǅ", "abǅ"),
    ],
)
def test_snakecase_separates_words(text, snake):
    """A number belongs to the word before it, or to the lower-case letters after it."""
    assert rendered("{{ snakecase .t }}", {"t": text}) == snake


def test_kebabcase_separates_words_by_dashes():
    """The result of kebabcase is that of snakecase with dashes."""
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
def test_invalid_bytes_belong_to_the_word_after_them(literal, quoted):
    """A byte that isn't UTF-8 is unchanged, except among capitals and connectors."""
    assert rendered(f"{{{{ snakecase {literal} | quote }}}}") == quoted
