"""Files of nginx and Apache that cannot be read, and what they have around redirects; the rest is tested end to end."""

from __future__ import annotations

import pytest
from conversions import converted_redirects

from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.tools.convert.hosting import convert_redirects
from tornado_proxy.tools.convert.options import OptionOutcome, Unreadable


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("server {\n  return 301 /x\n}", "`file:3:1`: nginx would not read this"),
        ("location ~ a{2} { return 301 /x; }", "nginx would not read this"),
        ("server { return 301 /x; }}", "`file:1:26`: nginx would not read this"),
        ("server { return 301 '/x; }", "nginx would not read this"),
        ("if (a) {" * 5000, "`file:1:168`: nginx would not read this"),
    ],
)
def test_a_file_of_nginx_that_cannot_be_read_has_a_reason(text, message):
    with pytest.raises(Unreadable) as raised:
        converted_redirects(text, origin="nginx")
    assert message in str(raised.value)


def test_a_map_may_be_in_another_file():
    uses = "http { server { return 308 https://example.org$new; } }"
    rules, _, report = converted_redirects(
        "map $request_uri $new { default /x; /a /b; /c?d /e; }", uses, origin="nginx"
    )
    moved = [str(rules.rewrite(key).moved) for key in ("/a", "/z")]
    assert moved == ["redirect 308 https://example.org/b", "redirect 308 https://example.org/x"]
    assert [each.message for each in report.remarks if each.outcome is OptionOutcome.LEFT_OUT] == ["it has a query"]


def test_addresses_in_any_case_gain_nothing_by_a_list():
    """Those of a map are taken in any case, and neither before what stands above nor after what stands below."""
    lines = "".join(f"/m{number} /map;" for number in range(20))
    above, below = ("".join(f"rewrite ^/{name}{n}$ /{name} permanent;" for n in range(20)) for name in ("M", "m"))
    uses = "if ($new) { return 301 $new; }"
    for text, places in ((f"{above} {uses} {below}", ["/M", "/map"]), (f"{uses} {above} {below}", ["/map", "/map"])):
        rules, _, report = converted_redirects(f"map $uri $new {{ {lines} }} {text}", origin="nginx")
        assert [str(rules.rewrite(key).moved)[13:] for key in ("/M7", "/m7")] == places
        assert report.complete


def test_a_map_alone_redirects_with_301():
    rules, _, report = converted_redirects("map $uri $new { /a /b; }", origin="nginx")
    assert str(rules.rewrite("/A").moved) == "redirect 301 /b"
    assert not report.complete


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("map $host $new { /a /b; } return 301 $new;", "its map reads `$host`, or it is in a location"),
        ("map $uri $new { /a $http_x; } return 301 $new;", "it inserts `$http_x`"),
        ("return 301 x;", "it leads to no path and no URL"),
        ("location = /a { rewrite ^/a(.*)$ /b$1 permanent; }", "both its expression and that of its `location` would have"),
        ("location /a { location /a/b { return 301 /c; } }", "it is a location within another"),
        ("location = / { rewrite ^ /index.html last; }", "a directory is not rewritten to a file"),
        ("location @named { return 301 /c; } return 418;", "it answers with 418"),
    ],
)  # fmt: skip
def test_what_of_nginx_cannot_be_expressed_has_a_reason(text, message):
    _, _, report = converted_redirects(text, origin="nginx")
    assert [each.message[: len(message)] for each in report.of(OptionOutcome.LEFT_OUT)] == [message]


def test_of_several_servers_the_one_with_most_redirects_is_read():
    """The other upgrades to TLS, and needs a target of its own."""
    plain = "server { listen 80; return 301 https://$host$request_uri; }"
    rules, _, report = converted_redirects(
        f"{plain} server {{ location /a {{ return 301 /b; }} return 410; }}", origin="nginx"
    )
    expected = (1, ["it is another server"])
    assert (len(rules.rewrites), [each.message for each in report.of(OptionOutcome.LEFT_OUT)]) == expected


def test_a_longer_location_comes_before_a_firm_one():
    text = (
        "location ^~ /a/ { return 301 /firm; } location /a/b/ { return 301 /longer; } location ~ /b { return 301 /re; }"
    )
    rules, _, _ = converted_redirects(text, origin="nginx")
    assert [str(rules.rewrite(key).moved)[13:] for key in ("/a/b/c", "/a/x", "/b")] == ["/longer", "/firm", "/re"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RewriteRule ^a$ /b", "the rules after it go on with its result"),
        ("RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^a$ /b [L]", "it is for paths without a file"),
        ("RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^a$ - [L]", "it is for paths without a file"),
        ("RewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule ^a$ - [G]", "it is for paths without a file"),
        ("RewriteRule !^a$ /b [R,L]", "it is for the paths that its expression does not match"),
        ("RewriteBase /sub/\nRewriteRule ^a$ b [R,L]", "its address is relative"),
        ("RewriteRule ^a|^b$ /b [R,L]", "`^` is not only at its start"),
        ("RewriteRule (?=a) /b [R,L]", "unsupported look-ahead `(?=`"),
        ("RewriteRule ^a$ /b [R=451,L]", "it answers with 451"),
        ("Redirect /a b", "it leads to no path and no URL"),
        ("<Location /x>\nRedirect /a /b\n</Location>", "it is in `<location>`"),
    ],
)
def test_what_of_apache_cannot_be_expressed_has_a_reason(text, message):
    _, _, report = converted_redirects(f"{text}\nRewriteRule ^z$ /y [R,L]", origin="apache")
    assert [each.message for each in report.of(OptionOutcome.LEFT_OUT)] == [message]


@pytest.mark.parametrize(
    ("origin", "text", "message"),
    [
        ("apache", "RewriteRule ^a$ /b [R]\nRewriteRule ^z$ /y [L]", "in Apache, rules after it without `[L]` go on with its result"),
        ("apache", "RewriteRule ^a$ /b?c [R,L,QSA]", "a query of the request is not added to its own"),
        ("nginx", "rewrite ^/a$ /b?c permanent;", "a query of the request is not added to its own"),
    ],
)  # fmt: skip
def test_what_differs_is_converted_with_a_remark(origin, text, message):
    rules, _, report = converted_redirects(text, origin=origin)
    assert rules.rewrites
    assert [each.message for each in report.of(OptionOutcome.CHANGED)] == [message]


def test_an_expression_that_no_path_of_a_directory_matches_is_never_used():
    """A `.htaccess` sees paths without their first slash, a virtual host sees it."""
    rule = "RewriteRule ^/a$ /b [R]"
    rules, _, report = converted_redirects(f"<VirtualHost *>\n{rule}\n</VirtualHost>", origin="apache")
    assert (len(rules.rewrites), report.complete) == (1, True)
    report = convert_redirects([SourceFile(".htaccess", rule)], "apache", "site").report
    assert [each.message for each in report.remarks] == ["never used: no path without its first slash matches it"]


@pytest.mark.parametrize("line", ["Redirect /a", "RewriteRule ^a$", "RewriteBase", "RewriteCond x"])
def test_a_file_of_apache_that_cannot_be_read_has_a_reason(line):
    with pytest.raises(Unreadable, match="`file:2`: Apache would not read this"):
        converted_redirects(f"RewriteEngine on\n{line}", origin="apache")
