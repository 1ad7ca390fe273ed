import codecs
import os
import stat

import pytest
from documents import scattered_texts
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_texts import parsed

from tornado_proxy.lint.engine import difference, formatted, replace_file
from tornado_proxy.rules.loading import RuleFile

TIDY = b'target site {\n    rewrite `^/a$` -> "/b"\n}\n'


def _format(data):
    return formatted(RuleFile("site.rules", data))


def _patch(data):
    return difference(RuleFile("site.rules", data), _format(data)[0])


def test_a_file_is_printed_in_its_canonical_layout():
    """The result is the printer's text, in UTF-8."""
    assert _format(b'target site{rewrite`^/a$`->"/b"}') == (TIDY, ())


def test_a_formatted_file_is_unchanged():
    """Formatting a file twice gives the same result as formatting it once."""
    assert _format(TIDY) == (TIDY, ())


def test_byte_order_mark_and_cr_lf_are_normalized():
    """Both are removed without a diagnostic."""
    assert _format(codecs.BOM_UTF8 + TIDY.replace(b"\n", b"\r\n")) == (TIDY, ())


def test_a_file_with_a_syntax_error_is_unchanged():
    """The mistakes are reported."""
    data = b"target site {\nrewrite `^/a -> '/b'\n}"
    content, diagnostics = _format(data)
    assert content == data
    assert [diagnostic.code for diagnostic in diagnostics] == ["unterminated-string"]


def test_a_source_that_does_not_compile_is_formatted():
    """The layout depends only on the syntax tree."""
    assert _format(b"target site { rewrite `(` -> `/b` }") == (b"target site {\n    rewrite `(` -> `/b`\n}\n", ())


def test_a_file_that_is_not_utf_8_is_unchanged():
    """The invalid encoding is reported."""
    content, diagnostics = _format(b"target \xff {}")
    assert content == b"target \xff {}"
    assert [diagnostic.code for diagnostic in diagnostics] == ["not-utf-8"]


def test_a_difference_is_a_patch():
    """The patch has the file's name, removed and added lines, and reports a missing line end."""
    assert list(_patch(b'target site {\n  rewrite `^/a$` -> "/b"\n}')) == [
        "--- site.rules",
        "+++ site.rules",
        "@@ -1,3 +1,3 @@",
        " target site {",
        '-  rewrite `^/a$` -> "/b"',
        "-}",
        "\\ No newline at end of file",
        '+    rewrite `^/a$` -> "/b"',
        "+}",
    ]


def test_a_formatted_file_has_no_difference():
    """The patch has no lines, not even the file's name."""
    assert list(_patch(TIDY)) == []


@settings(max_examples=25)
@given(scattered_texts())
def test_formatting_keeps_the_document_and_is_idempotent(scattered):
    """Any layout is formatted to the same document, and formatting again changes nothing."""
    text, _ = scattered
    content, _ = _format(text.encode())
    assert parsed(content.decode()).document == parsed(text).document
    assert _format(content)[0] == content


@given(st.binary(max_size=80))
def test_any_bytes_are_formatted_or_unchanged(data):
    """A file that is not formatted is unchanged and has diagnostics."""
    content, diagnostics = _format(data)
    assert not diagnostics or content == data


def test_a_replaced_file_keeps_its_mode(tmp_path):
    """The file has the new content and the old permissions."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    path.chmod(0o640)
    replace_file(path, b"new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_an_open_file_keeps_the_old_content(tmp_path):
    """The content is written to a new file, so a process that has the old one open reads on undisturbed."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    with path.open() as reader:
        replace_file(path, b"new")
        assert reader.read() == "old"


def test_a_symbolic_link_is_kept(tmp_path):
    """The target of the link is replaced."""
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "site.rules", tmp_path / "link.rules"
    target.write_text("old")
    link.symlink_to(target)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_no_temporary_file_is_left(tmp_path):
    """The temporary file is renamed to the file itself."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    replace_file(path, b"new")
    assert os.listdir(tmp_path) == ["site.rules"]  # noqa: PTH208 - names are compared


def test_a_missing_file_is_not_created(tmp_path):
    """Replacing a missing file raises an error."""
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "site.rules", b"new")


def test_a_failed_replacement_leaves_only_the_old_file(tmp_path):
    """A failed write leaves no temporary file behind."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    with pytest.raises(TypeError):
        replace_file(path, "no bytes")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["site.rules"]  # noqa: PTH208 - names are compared
