import pytest
from configurations import codes_and_messages, codes_and_messages_in_target, settings, target

from tornado_proxy.config.model import ArchiveOptions, ListingOptions, ThemeOptions
from tornado_proxy.config.values import GIB

TARGETS = "targets: {site: {bucket: {name: my-bucket}}}\n"


def test_pages_for_all_targets_are_read():
    templates = settings(
        TARGETS + "templates:\n  helpers: [h.tpl]\n  notFoundError: {path: a.tpl, headers: {X-A: b}, status: '410'}\n"
    ).templates
    page = templates.not_found_error
    assert (templates.helpers, page.path, page.headers, page.status) == (("h.tpl",), "a.tpl", (("X-A", "b"),), "410")
    assert templates.folder_list is None


def test_pages_of_a_target_may_be_in_its_bucket():
    templates = target("templates: {helpers: [{path: h, inBucket: true}], put: {path: p, inBucket: true}}").templates
    assert (templates.helpers[0].in_bucket, templates.put.in_bucket, templates.put.path) == (True, True, "p")
    templates = target("templates: {helpers: [{path: h}], put: {path: p}}").templates
    assert (templates.helpers[0].in_bucket, templates.put.in_bucket) == (False, False)


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
def test_an_invalid_page_is_reported(page, code, message):
    assert codes_and_messages(f"{TARGETS}templates: {{put: {page}}}\n") == [(code, message)]


def test_options_of_listings_are_read():
    assert target("").listing == ListingOptions()
    listing = target("listing: {directoriesFirst: false, hidden: ['.*', '*.tmp']}").listing
    assert (listing.directories_first, listing.hidden) == (False, (".*", "*.tmp"))


@pytest.mark.parametrize("pattern", ["a/b", "''", '"a\\nb"'])
def test_a_pattern_of_hidden_names_is_checked(pattern):
    """A pattern of hidden names has no slash, and is neither empty nor has a control character."""
    expected = [("bad-value", "an item of `hidden` is not a pattern of names")]
    assert codes_and_messages_in_target(f"listing: {{hidden: [{pattern}]}}") == expected


def test_readmes_and_archives_are_off_by_default():
    assert (ListingOptions().readme, ListingOptions().archive) == (False, ArchiveOptions(False, GIB, 10_000))
    listing = target("listing: {readme: true, archive: {enabled: true, maxSize: 4GiB, maxFiles: 5}}").listing
    assert (listing.readme, listing.archive) == (True, ArchiveOptions(True, 4 * GIB, 5))


def test_the_theme_of_a_target_is_read():
    assert target("").pages is None
    theme = target("pages: {title: Files, logo: a/b.svg, css: 'https://css.example/a.css?b', templates: brand}").pages
    assert theme == ThemeOptions("Files", "a/b.svg", "https://css.example/a.css?b", "brand")
    assert [theme.place.key(option).text for option in ("logo", "css")] == ["logo", "css"]


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
def test_an_invalid_theme_is_reported(options, message):
    """A file must have a suffix of its kind, and a URL must not extend the content security policy."""
    assert codes_and_messages_in_target(f"pages: {{{options}}}") == [("bad-value", message)]
