import pytest
from go_programs import failure, rendered


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ('upper "aé"', "AÉ"),
        ('lower "AÉ"', "aé"),
        ('trim "  a "', "a"),
        ('trimAll "$é" "é$a$"', "a"),
        ('trimAll "$" "$a$"', "a"),
        ('trimAll "" " a "', " a "),
        ('trimAll "" "é"', "é"),
        ('trimall "x" "xax"', "a"),
        ('trimAll "\\xff" "\\xfea\\xff" | quote', '"a"'),
        ('trimPrefix "-" "-a"', "a"),
        ('trimSuffix "-" "a-"', "a"),
        ('contains "b" "abc"', "true"),
        ('hasPrefix "a" "abc"', "true"),
        ('hasSuffix "a" "abc"', "false"),
        ("hello", "Hello!"),
        ('quote "a" 1 nil "b\\n"', '"a" "1" "b\\n"'),
        ('squote "a" 1 nil', "'a' '1'"),
        ('cat "a" nil 1 true', "a 1 true"),
        ('repeat 3 "ab"', "ababab"),
        ('replace "a" "b" "aXa"', "bXb"),
        ('replace "" "-" "aé"', "-a-é-"),
        ('plural "one" "many" 1', "one"),
        ('plural "one" "many" 2', "many"),
        ('indent 2 "a\\nb" | quote', '"  a\\n  b"'),
        ('nindent 1 "a" | quote', '"\\n a"'),
        ("toString 1.5", "1.5"),
        ('toStrings (list 1 "a" nil) | toJson', '["1","a"]'),
        ("toStrings nil | toJson", "[]"),
        ("toStrings 5", "[5]"),
        ('join "-" (list 1 "a" nil true)', "1-a-true"),
        ('join "-" "abc"', "abc"),
        ('join "-" nil', ""),
    ],
)
def test_texts_are_changed_and_joined(call, result):
    """Nil is left out where sprig leaves it out."""
    assert rendered(f"{{{{ {call} }}}}") == result


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ('substr 1 3 "hello"', "el"),
        ('substr -1 3 "hello"', "hel"),
        ('substr 3 -1 "hello"', "lo"),
        ('substr 3 99 "hello"', "lo"),
        ('substr 0 1 "é"', "\ufffd"),
        ('trunc 2 "hello"', "he"),
        ('trunc 9 "hello"', "hello"),
        ('trunc -2 "hello"', "lo"),
        ('trunc -9 "hello"', "hello"),
        ('abbrev 8 "hello world"', "hello..."),
        ('abbrev 3 "hello"', "hello"),
        ('abbrev 50 "hello"', "hello"),
        ('abbrevboth 5 10 "1234 5678 9123"', "...5678..."),
        ('abbrevboth 99 10 "1234 5678 9123"', "...78 9123"),
        ('abbrevboth 2 10 "1234 5678 9123"', "1234 56..."),
        ('abbrevboth 9 8 "1234 5678 9123"', "... 9123"),
        ('abbrevboth 5 6 "1234567890"', "1234567890"),
        ('abbrevboth 0 5 "1234567890"', "12..."),
        ('abbrevboth 5 7 "1234567890123"', "...6..."),
    ],
)
def test_texts_are_cut_by_bytes(call, result):
    """A cut may divide a character."""
    assert rendered(f"{{{{ {call} }}}}") == result


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ('splitList "/" "a/b" | toJson', '["a","b"]'),
        ('splitList "" "aé" | toJson', '["a","é"]'),
        ('splitList "" "" | toJson', "[]"),
        ('splitList "," "" | toJson', '[""]'),
        ('split "/" "a/b"', "map[_0:a _1:b]"),
        ('(split "/" "a/b")._1', "b"),
        ('splitn "/" 2 "a/b/c"', "map[_0:a _1:b/c]"),
        ('splitn "/" 0 "a"', "map[]"),
        ('splitn "/" -1 "a/b"', "map[_0:a _1:b]"),
        ('splitn "" 2 "abc"', "map[_0:a _1:bc]"),
        ('splitn "" 9 "ab"', "map[_0:a _1:b]"),
    ],
)
def test_texts_are_split(call, result):
    """An empty separator separates all runes."""
    assert rendered(f"{{{{ {call} }}}}") == result


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ('wrap 5 "hello world foo"', ["hello", "world", "foo"]),
        ('wrap 3 "hello  a b"', ["hello", "a b"]),
        ('wrap 3 "hello"', ["hello"]),
        ('wrap 0 "a b"', ["a", "b"]),
        ('wrapWith 3 "\\n" "hello a"', ["hel", "lo", "a"]),
        ('wrapWith 5 "" "hello world"', ["hello", "world"]),
    ],
)
def test_texts_are_wrapped_at_spaces(call, expected):
    """A long word is cut only if the call has its own line end."""
    assert rendered(f"{{{{ {call} }}}}").split("\n") == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('substr 3 1 "hello"', "the bounds 3 and 1 are out of range"),
        ('substr 9 -1 "hello"', "the bounds 9 and 5 are out of range"),
        ('substr -1 9 "hello"', "the bounds 0 and 9 are out of range"),
        ('substr -1 -1 "hello"', "the bounds 0 and -1 are out of range"),
        ('repeat -1 "a"', "the number of repetitions is negative"),
        ('indent -1 "a"', "the number of spaces is negative"),
    ],
)
def test_calls_that_panic_in_go_fail(call, message):
    """Bounds and counts out of range are errors."""
    assert failure(f"{{{{ {call} }}}}").startswith(message)


@pytest.mark.parametrize(
    ("path", "base", "directory", "clean", "extension", "absolute"),
    [
        ("/a/b.tar.gz", "b.tar.gz", "/a", "/a/b.tar.gz", ".gz", "true"),
        ("a/../b/./c//d", "d", "b/c", "b/c/d", "", "false"),
        ("", ".", ".", ".", "", "false"),
        ("/", "/", "/", "/", "", "true"),
        ("//", "/", "/", "/", "", "true"),
        ("/..", "..", "/", "/", ".", "true"),
        ("../../a", "a", "../..", "../../a", "", "false"),
        ("a/b/", "b", "a/b", "a/b", "", "false"),
        ("a", "a", ".", "a", "", "false"),
        (".b", ".b", ".", ".b", ".b", "false"),
        ("a.b/c", "c", "a.b", "a.b/c", "", "false"),
    ],
)
def test_paths_are_split(path, base, directory, clean, extension, absolute):
    """Slashes separate the elements of a path, and the functions for files return the same parts."""
    for text in (
        "{{base .p}} {{dir .p}} {{clean .p}} {{ext .p}} {{isAbs .p}}",
        "{{osBase .p}} {{osDir .p}} {{osClean .p}} {{osExt .p}} {{osIsAbs .p}}",
    ):
        assert rendered(text, {"p": path}) == f"{base} {directory} {clean} {extension} {absolute}"


def test_urls_are_parsed_to_dictionaries():
    """The dictionary of a URL has its parts by name."""
    result = rendered('{{ urlParse "http://u:p@h.com:80/p%20q?x=1#f" | toJson }}')
    assert result == (
        '{"fragment":"f","host":"h.com:80","hostname":"h.com","opaque":"","path":"/p q","query":"x=1","scheme":"http","userinfo":"u:p"}'
    )


@pytest.mark.parametrize(
    ("parts", "url"),
    [
        ('dict "scheme" "https" "host" "h" "path" "/a b"', "https://h/a%20b"),
        ('dict "host" "h" "userinfo" "u:p" "query" "x" "fragment" "f"', "//u:p@h?x#f"),
        ('dict "scheme" "mailto" "opaque" "x@y"', "mailto:x@y"),
        ("dict", ""),
        ('urlParse "http://u@h/p?q#f"', "http://u@h/p?q#f"),
    ],
)
def test_dictionaries_are_joined_to_urls(parts, url):
    """A part that the dictionary lacks is empty."""
    assert rendered(f"{{{{ urlJoin ({parts}) }}}}") == url


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('urlParse "/%zz"', "invalid URL: invalid URL escape"),
        ('urlJoin (dict "host" 5)', "the part `host` of a URL is a string, not `int`"),
        ('urlJoin (dict "userinfo" "a%zz")', "invalid URL: invalid URL escape"),
    ],
)
def test_invalid_urls_fail(call, message):
    """The error of an invalid URL has the reason."""
    assert failure(f"{{{{ {call} }}}}").startswith(message)


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
