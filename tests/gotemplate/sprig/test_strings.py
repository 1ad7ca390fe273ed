import pytest
from go_programs import failure, rendered


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
    ("path", "base", "directory", "clean", "extension", "absolute"),
    [
        ("/a/b.tar.gz", "b.tar.gz", "/a", "/a/b.tar.gz", ".gz", "true"),
        ("a/../b/./c//d", "d", "b/c", "b/c/d", "", "false"),
        ("", ".", ".", ".", "", "false"),
        ("/..", "..", "/", "/", ".", "true"),
        ("../../a", "a", "../..", "../../a", "", "false"),
        (".b", ".b", ".", ".b", ".b", "false"),
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
    result = rendered('{{ urlParse "http://u:p@h.com:80/p%20q?x=1#f" | toJson }}')
    assert result == (
        '{"fragment":"f","host":"h.com:80","hostname":"h.com","opaque":"","path":"/p q","query":"x=1","scheme":"http","userinfo":"u:p"}'
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('{{ substr 3 1 "hello" }}', "the bounds 3 and 1 are out of range"),
        ('{{ substr 9 -1 "hello" }}', "the bounds 9 and 5 are out of range"),
        ('{{ substr -1 9 "hello" }}', "the bounds 0 and 9 are out of range"),
        ('{{ substr -1 -1 "hello" }}', "the bounds 0 and -1 are out of range"),
        ('{{ repeat -1 "a" }}', "the number of repetitions is negative"),
        ('{{ indent -1 "a" }}', "the number of spaces is negative"),
        ('{{ urlParse "/%zz" }}', "invalid URL: invalid URL escape"),
        ('{{ urlJoin (dict "host" 5) }}', "the part `host` of a URL is a string, not `int`"),
        ('{{ urlJoin (dict "userinfo" "a%zz") }}', "invalid URL: invalid URL escape"),
    ],
)
def test_calls_that_panic_in_go_fail(call, message):
    assert failure(call).startswith(message)
