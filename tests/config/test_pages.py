import pytest
from configurations import codes_and_messages, codes_and_messages_in_target, settings, target

from tornado_proxy.config.model import PAGES, ArchiveOptions, ListingOptions, ThemeOptions
from tornado_proxy.config.options import GIB

TARGETS = "targets: {site: {bucket: {name: my-bucket}}}\n"


def test_pages_for_all_targets():
    """A page has a file, headers and a status; each can be left out."""
    found = settings(
        TARGETS + "templates:\n  helpers: [h.tpl]\n  notFoundError: {path: a.tpl, headers: {X-A: b}, status: '410'}\n"
    ).templates
    page = found.not_found_error
    assert (found.helpers, page.path, page.headers, page.status) == (("h.tpl",), "a.tpl", (("X-A", "b"),), "410")
    assert (found.folder_list, page.path_span.text, found.helpers_span.text) == (None, "path", "helpers")


def test_pages_of_a_target_may_lie_in_its_bucket():
    """Each page and each helper says where it is."""
    found = target("templates: {helpers: [{path: h, inBucket: true}], put: {path: p, inBucket: true}}").templates
    assert (found.helpers[0].in_bucket, found.put.in_bucket, found.put.path) == (True, True, "p")
    found = target("templates: {helpers: [{path: h}], put: {path: p}}").templates
    assert (found.helpers[0].in_bucket, found.put.in_bucket) == (False, False)


def test_all_pages_have_a_name():
    """The pages are known by their attributes."""
    assert PAGES[:3] == ("folder_list", "target_list", "not_found_error")
    assert len(PAGES) == 9


@pytest.mark.parametrize(
    ("page", "code", "message"),
    [
        ("{status: '99'}", "bad-value", "`status` cannot be `99`"),
        ("{status: '600'}", "bad-value", "`status` cannot be `600`"),
        ("{status: 404}", "wrong-type", "`status` must be a string, but is a number"),
        ("{headers: {Content-Length: '1'}}", "bad-value", "`headers` cannot have `Content-Length`"),
        ("{headers: {a: x, A: y}}", "bad-value", "`headers` has `A` twice"),
        ("{headers: {'a b': x}}", "bad-value", "`headers` cannot be `a b`"),
        ("{path: ''}", "bad-value", "`path` is empty"),
    ],
)
def test_invalid_pages(page, code, message):
    """Statuses, headers and paths are checked when they are read."""
    assert codes_and_messages(f"{TARGETS}templates: {{put: {page}}}\n") == [(code, message)]


def test_what_listings_show():
    """Directories come first and nothing is hidden, unless the target says otherwise."""
    assert target("").listing == ListingOptions()
    found = target("listing: {directoriesFirst: false, hidden: ['.*', '*.tmp']}").listing
    assert (found.directories_first, found.hidden) == (False, (".*", "*.tmp"))


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a/b", "an item of `hidden` is not a pattern of names"),
        ("", "an item of `hidden` is not a pattern of names"),
        ('"a\\nb"', "an item of `hidden` is not a pattern of names"),
    ],
)
def test_a_pattern_is_one_of_names(pattern, message):
    """It is compared with a name in a directory, which has no slash."""
    assert codes_and_messages_in_target(f"listing: {{hidden: [{pattern or repr('')}]}}") == [("bad-value", message)]


def test_a_directory_can_be_had_as_one_file_where_that_is_switched_on():
    """READMEs and archives are off by default; an archive has limits."""
    assert (ListingOptions().readme, ListingOptions().archive) == (False, ArchiveOptions(False, GIB, 10_000))
    found = target("listing: {readme: true, archive: {enabled: true, maxSize: 4GiB, maxFiles: 5}}").listing
    assert (found.readme, found.archive) == (True, ArchiveOptions(True, 4 * GIB, 5))


def test_the_look_of_a_target():
    """Nothing is changed by default; logo and sheet are files or URLs."""
    assert target("").pages is None
    found = target("pages: {title: Files, logo: a/b.svg, css: 'https://css.example/a.css?b', templates: brand}").pages
    assert found == ThemeOptions("Files", "a/b.svg", "https://css.example/a.css?b", "brand")
    assert (found.logo_span.text, found.css_span.text, found.templates_span.text) == ("logo", "css", "templates")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("logo: a.txt", "`logo` cannot be `a.txt`"),
        ("css: a.svg", "`css` cannot be `a.svg`"),
        ("css: 'ftp://a/b.css'", "`css` is not a URL"),
        ('logo: "https://a;script-src *.example/b.png"', "`logo` is not a URL"),
        ('logo: "https://a;b/c.png"', "`logo` has a character that no policy can contain"),
        ("logo: ''", "`logo` is empty"),
    ],
)
def test_invalid_looks(options, message):
    """A file has the ending of its kind, and a URL cannot widen the policy."""
    assert codes_and_messages_in_target(f"pages: {{{options}}}") == [("bad-value", message)]
