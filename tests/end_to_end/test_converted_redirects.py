"""Files that redirect, of each server and service, converted and served: every entry answers as it is written."""

import itertools

import pytest
from running import start_proxy

from tornado_proxy.cli.main import main
from tornado_proxy.cli.output import ExitStatus, save
from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.tools.convert.hosting import convert_redirects
from tornado_proxy.tools.convert.options import OptionOutcome

CONFIGURATION = """
rules: {rules}
targets:
"""
TARGET = """
  {name}:
    mount: {{path: [/{name}/]}}
    bucket: {{name: {bucket}, s3Endpoint: "{endpoint}", s3ForcePathStyle: true}}
"""

# By format: entries, each with requests and what is answered: a status with a location, the content of an object, or
# a status alone. An entry without requests cannot be expressed. `{m}` is the mount.
FILES = {
    "netlify": [
        ("# a comment", {}),
        ("/home  /  302", {"/home": "302 {m}/", "/home/": "302 {m}/", "/home?a=1": "302 {m}/?a=1"}),
        ("/there.html  /moved", {"/there.html": "is there"}),
        ("/forced.html  /moved  301!", {"/forced.html": "301 {m}/moved"}),
        ("/caf%C3%A9/x  https://example.org/caf%C3%A9#top 308 # why", {"/caf%C3%A9/x": "308 https://example.org/caf%C3%A9#top"}),
        ("/store id=:id  /blog/:id  301", None),
        ("/ /anz 302 Country=au,nz Language=en", None),
        ("/admin/* /admin/:splat 200! Role=admin", None),
        ("http://blog.example.org/* https://example.org/blog/:splat 301!", None),
        ("/api/* https://api.example.org/:splat 200", None),
        ("/special /404.html 404", None),
        ("/news/:year/:slug  /posts/:slug?y=:year", {"/news/2024/a%20b": "301 {m}/posts/a%20b?y=2024", "/news/2024": 404}),
        ("/docs/*  /guides/:splat", {"/docs/a/b": "301 {m}/guides/a/b", "/docs": "301 {m}/guides/", "/docsx": 404}),
        ("/docs/a  /never", {"/docs/a": "301 {m}/guides/a"}),
        ("/page /there.html 200!", {"/page": "is there"}),
        ("/old/* /gone.html 410!", {"/old/a": 410}),
        ("/slash  /slash/", None),
        ("/* /index.html 200", None),
    ],
    "cloudflare": [
        ("/home /", {"/home": "302 {m}/", "/home/": 404}),
        ("/there.html /moved#part 301", {"/there.html": "301 {m}/moved#part"}),
        ("/q /?x=1 303", {"/q?y=2": "303 {m}/?x=1"}),
        ("/movies/:title /media/:title-film 307", {"/movies/x": "307 {m}/media/x-film"}),
        ("/blog/* https://blog.example.org/:splat", {"/blog/": "302 https://blog.example.org/", "/blog": 404}),
        ("/a*z /za/:splat 301", {"/abz": "301 {m}/za/b"}),
        ("/too many words here", None),
        ("/app/* /app/index.html 200", None),
        ("/page /there.html 200", {"/page": "is there"}),
        ("https://other.example/* /x", None),
    ],
    "list": [
        ("/a b\t/c d", {"/a%20b": "301 {m}/c%20d"}),
        ("/x /y 302", {"/x": "302 {m}/y"}),
        ("/:colon /z", {"/:colon": "301 {m}/z", "/other": 404}),
    ],
    "s3": [
        ('[{"Condition": {"KeyPrefixEquals": "docs/"}, "Redirect": {"ReplaceKeyPrefixWith": "documents/"}},', {
            "/docs/a%20b?x=1": "301 {m}/documents/a%20b?x=1"}),
        ("""{"Condition": {"KeyPrefixEquals": "there", "HttpErrorCodeReturnedEquals": "404"},
             "Redirect": {"HostName": "old.example.org", "Protocol": "https", "HttpRedirectCode": "302"}},""", {
            "/there.html": "is there", "/there.htm": "302 https://old.example.org/there.htm"}),
        ('{"Condition": {"KeyPrefixEquals": "p/"}, "Redirect": {"Protocol": "https"}},', None),
        ('{"Condition": {"HttpErrorCodeReturnedEquals": "403"}, "Redirect": {"ReplaceKeyWith": "403.html"}},', None),
        ('{"RoutingRuleCondition": {"KeyPrefixEquals": "cf"}, "RedirectRule": {"ReplaceKeyWith": "x$y.html"}}]', {
            "/cfa": "301 {m}/x$y.html"}),
    ],
    "s3-xml": [
        ("<WebsiteConfiguration xmlns='http://s3.amazonaws.com/doc/2006-03-01/'><RoutingRules>", {}),
        ("""<RoutingRule><Condition><KeyPrefixEquals>a&amp;b/</KeyPrefixEquals></Condition><Redirect>
            <HttpRedirectCode>307</HttpRedirectCode><ReplaceKeyPrefixWith/></Redirect></RoutingRule>""", {
            "/a&b/c": "307 {m}/c"}),
        ("<!-- <RoutingRule/> -->", {}),
        ("""<RoutingRule><Condition><HttpErrorCodeReturnedEquals>500</HttpErrorCodeReturnedEquals></Condition>
            <Redirect><ReplaceKeyWith>x</ReplaceKeyWith></Redirect></RoutingRule></RoutingRules>""", None),
        ("</WebsiteConfiguration>", {}),
    ],
    "s3-all": [
        ("""<WebsiteConfiguration><RedirectAllRequestsTo><HostName>example.org</HostName><Protocol>https</Protocol>
            </RedirectAllRequestsTo></WebsiteConfiguration>""", {
            "/": "301 https://example.org/", "/a/b?c": "301 https://example.org/a/b?c"}),
    ],
    "nginx": [
        ("map $uri $new_uri {", {}),
        ('default "";', {}),
        ("/Old.html /new.html;", {"/Old.html": "301 {m}/new.html", "/old.HTML?q=1": "301 {m}/new.html"}),
        ('/kept.html "";', {"/kept.html": 404}),
        (r"~^/k(?<rest>.*)\.html$ /c/$rest;", {"/key.html": "301 {m}/c/ey"}),
        (r"~*^/blog/(\d+)/(?<slug>.*)$ /posts/$slug?y=$1;", {"/BLOG/7/x": "301 {m}/posts/x?y=7"}),
        ("include more.map;", None),
        ("} server {", {}),
        ("if ($new_uri) { return 301 $new_uri; }", {}),
        ("if ($request_method = POST) { return 405; }", None),
        (r"rewrite ^/a\.html$ /b.html permanent;", {"/a.html?x": "301 {m}/b.html?x"}),
        ("rewrite ^/c/(.*)$ https://example.org/$1? redirect;", {"/c/d?x": "302 https://example.org/d"}),
        ("rewrite ^/page$ /there.html last;", {"/page": "is there"}),
        ("rewrite ^/on /with;", None),
        ("rewrite ^/f/(?!x) /g permanent;", None),
        ("rewrite ^/tls https://$http_host$request_uri permanent;", None),
        ("rewrite ^/host/(.*)$ https://$host/h/$1 permanent;", {"/host/a": "301 {m}/h/a"}),
        ('location ~ "^/re/(\\w{2,3})$" { return 308 /r/$1$is_args$args; }', {"/re/ab?x": "308 {m}/r/ab?x", "/re/a": 404}),
        (r"location ~* \.php$ { deny all; }", {"/pre/a.php": 404}),
        ("location /pre/ { return 307 https://example.org$request_uri; }", {"/pre/a?x": "307 https://example.org/pre/a?x"}),
        ("location /pre/keep/ { root /srv; }", {"/pre/keep/a": 404}),
        ("location = /pre/keep/exact { return https://example.org/e; }", {"/pre/keep/exact?x": "302 https://example.org/e"}),
        ("location = /bye { return 410; }", {"/bye": 410}),
        ("location /own/ { return 301 $scheme://$host/o; }", {"/own/a": "301 {m}/o"}),
        ("location /up/ { rewrite ^/up/(.*)$ /$1 permanent; }", {"/up/x": "301 {m}/x"}),
        ("location / { try_files $uri =404; } }", {}),
    ],
    "apache": [
        ("RewriteEngine On", {}),
        ("<IfModule mod_rewrite.c>", {}),
        ("RewriteRule ^old/(.*)$ /new/$1 [R=301,L]", {"/old/a?x": "301 {m}/new/a?x"}),
        ("RewriteRule ^q$ /r? [R=permanent,L]", {"/q?x": "301 {m}/r"}),
        ("RewriteRule ^hash$ /h#top [R,L]", {"/hash": "302 {m}/h%23top"}),
        ("RewriteRule CASE https://example.org/$0#x \\\n  [NC,NE,L]", {"/a/case/b": "302 https://example.org/case#x"}),
        ("RewriteRule ^w(.)*$ https://example.org/$0/$1 [R,L]", {"/wxy": "302 https://example.org/wxy/y"}),
        ("RewriteRule ^page$ there.html [L]", {"/page": "is there"}),
        ("RewriteRule ^press/ - [G]", {"/press/a": 410}),
        ("RewriteRule ^kept/ - [L]", {"/kept/a": 404}),
        ("RewriteCond %{HTTP_ACCEPT} text/html", {}),
        ("RewriteRule ^c$ /d [R=303,L]", None),
        ("RewriteCond %{REQUEST_FILENAME} !-f", {}),
        ("RewriteRule ^there(.*)$ /no$1 [R=301,L]", {"/there.html": "is there", "/there.htm": "301 {m}/no.htm"}),
        ("</IfModule>", {}),
        ("RewriteRule ^p$ http://127.0.0.1/ [P]", None),
        ("RewriteRule ^e$ /%{HTTP_HOST} [R,L]", None),
        ("RewriteRule ^o$ https://%{HTTP_HOST}/p [R,L]", {"/o": "302 {m}/p"}),
        ("RewriteRule ^tls(.*)$ https://%{SERVER_NAME}/tls$1 [R,L]", None),
        ("Redirect 301 /kept /never", {"/kept": "301 {m}/never"}),
        ("Redirect 301 /docs https://docs.example.org/v1", {
            "/docs": "301 https://docs.example.org/v1", "/docs/a?x": "301 https://docs.example.org/v1/a?x", "/docsx": 404}),
        ('Redirect permanent "/a b/" /dir/', {"/a%20b/c": "301 {m}/dir/c", "/a%20b": 404}),
        ("RedirectTemp /t /u?v=1", {"/t?x": "302 {m}/u?v=1"}),
        ("Redirect seeother /s /v", {"/s": "303 {m}/v"}),
        ("Redirect gone /bye", {"/bye": 410, "/bye/a": 410}),
        (r"RedirectMatch 308 ^/img/(.*)\.gif$ /img/$1.png", {"/img/a.gif": "308 {m}/img/a.png"}),
        ("Redirect 404 /x", None),
        ('<Files "*.x">', {}),
        ("Redirect /f /g", None),
        ("</Files>", {}),
    ],
}  # fmt: skip
FROM = {"s3-xml": "s3", "s3-all": "s3"}


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    """The folders of the written files, and the reports, by format."""
    found = {}
    for name, entries in FILES.items():
        text = "\n".join(line for line, _ in entries)
        source = SourceFile(".htaccess" if name == "apache" else name, text)
        done = convert_redirects([source], FROM.get(name, name), name)
        save(done.files, folder := tmp_path_factory.mktemp(name))
        found[name] = folder, done.report
    return found


@pytest.fixture(scope="module")
def proxy(bucket, converted, tmp_path_factory):
    """A server with a target for each file."""
    bucket.put("there.html", b"is there")
    text = CONFIGURATION.format(rules=[str(folder) for folder, _ in converted.values()])
    text += "".join(TARGET.format(name=name, bucket=bucket.name, endpoint=bucket.endpoint) for name in FILES)
    with start_proxy(tmp_path_factory.mktemp("served"), text) as started:
        yield started


@pytest.mark.parametrize("name", FILES)
def test_every_entry_answers_as_it_is_written(name, proxy):
    """The running service answers with the status and the place of each line, and with files where there are some."""
    wanted, got = {}, {}
    for path, answer in (each for _, requests in FILES[name] for each in (requests or {}).items()):
        response = proxy.request("GET", f"/{name}{path}")
        led = response.headers.get("location")
        got[path] = f"{response.status} {led}" if led else response.text if response.status == 200 else response.status
        wanted[path] = answer.replace("{m}", f"/{name}") if isinstance(answer, str) else answer
    assert got == wanted


@pytest.mark.parametrize("name", FILES)
def test_each_line_that_cannot_be_expressed_is_named(name, converted):
    starts = itertools.accumulate((line.count("\n") + 1 for line, _ in FILES[name]), initial=1)
    wanted = [number for number, (_, requests) in zip(starts, FILES[name], strict=False) if requests is None]
    assert [each.place.first.line for each in converted[name][1].of(OptionOutcome.LEFT_OUT)] == wanted


@pytest.mark.parametrize("name", FILES)
def test_the_written_tests_pass(name, converted, capsys):
    """The rule files are as `fmt` writes them, and have tests of the files' own addresses."""
    folder = str(converted[name][0])
    assert main(["fmt", "--check", folder]) == ExitStatus.CLEAN
    assert main(["test", folder]) == ExitStatus.CLEAN
    assert " passed" in capsys.readouterr().out
