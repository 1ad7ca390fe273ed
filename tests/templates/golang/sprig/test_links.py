import pytest
from go_programs import failure, written


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
        ('urlParse "/%zz"', "this is no URL: invalid URL escape"),
        ('urlJoin (dict "host" 5)', "`host` of a URL is a string, not a `int`"),
        ('urlJoin (dict "userinfo" "a%zz")', "`userinfo` of a URL cannot be read"),
    ],
)
def test_what_cannot_be_a_url_fails(call, message):
    """And says why."""
    assert failure(f"{{{{ {call} }}}}").startswith(message)
