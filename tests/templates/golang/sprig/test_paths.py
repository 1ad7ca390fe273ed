import pytest
from go_programs import failure, written


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
def test_paths_are_taken_apart(path, base, directory, clean, extension, absolute):
    """By slashes; the functions for files do the same."""
    for prefix in (
        "{{base .p}} {{dir .p}} {{clean .p}} {{ext .p}} {{isAbs .p}}",
        "{{osBase .p}} {{osDir .p}} {{osClean .p}} {{osExt .p}} {{osIsAbs .p}}",
    ):
        assert written(prefix, {"p": path}) == f"{base} {directory} {clean} {extension} {absolute}"


def test_urls_become_dictionaries():
    """Their parts by name."""
    result = written('{{ urlParse "http://u:p@h.com:80/p%20q?x=1#f" | toJson }}')
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
def test_dictionaries_become_urls(parts, url):
    """What is missing is empty."""
    assert written(f"{{{{ urlJoin ({parts}) }}}}") == url


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('urlParse "/%zz"', "invalid URL: invalid URL escape"),
        ('urlJoin (dict "host" 5)', "`host` of a URL is a string, not a `int`"),
        ('urlJoin (dict "userinfo" "a%zz")', "`userinfo` of a URL cannot be read"),
    ],
)
def test_what_cannot_be_a_url_fails(call, message):
    """And says why."""
    assert failure(f"{{{{ {call} }}}}").startswith(message)
