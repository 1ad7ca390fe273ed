"""Properties of every text: each feature has a result, and each result can be translated for a client."""

from editing import NAME, analysed
from hypothesis import assume, given
from hypothesis import strategies as st
from lsprotocol.types import PositionEncodingKind
from pygls.workspace import PositionCodec

from tornado_proxy.lint.engine import edited
from tornado_proxy.rules.diagnostic import Span
from tornado_proxy.tools.lsp.completion import completions
from tornado_proxy.tools.lsp.hover import definitions, hover_at, lens_places
from tornado_proxy.tools.lsp.server import Translation
from tornado_proxy.tools.lsp.workspace import actions, layout_edits, safe_fixes

_PIECES = st.sampled_from(
    [
        "target site {", "}", "rewrite", "test", "home", "`^/(?P<a>[^/]+)(b|c.)?$`", "`^/😀.x`", '"/b/$a/${1}"',
        "->", "jinja", "go", '"/{{ groups.a }}{{ user.username }}"', '"/{{ .Groups.a }}{{ .User.GetUsername }}"',
        '"/a/b"', "as ann", "unchanged", "# allow: unescaped-dot, no-effect (x)", "\n", "\r\n", "\u2028", "\ud800",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.lists(_PIECES, max_size=25).map(" ".join), st.text(max_size=40)).map(
    lambda text: text.replace("‸", "")
)


@given(TEXTS, st.sampled_from(PositionEncodingKind), st.data())
def test_every_feature_has_a_result_for_any_text(text, encoding, data):
    """No feature fails, and every span of a result lies within the file."""
    analysis = analysed(text)
    document = analysis.document(NAME)
    if document is None:  # it has a character that no file of rules can have
        assert [each.code for each in analysis.diagnostics] == ["not-utf-8"]
        return
    source = document.source
    offset = data.draw(st.integers(0, len(text)))
    translation = Translation(PositionCodec(encoding))
    hover = hover_at(analysis, document, offset)
    spans: list[Span] = [hover[1]] if hover else []
    spans += definitions(analysis, document, offset)
    word, proposals = completions(source, offset, ["site"])
    for completion in proposals:
        translation.completion(completion, translation.range(word), 0)
    assert word.end == offset
    spans.append(word)
    for span, tests in lens_places(analysis, document):
        translation.lens(span, tests)
        spans.append(span)
    for block in document.blocks:
        translation.symbol(block)
    for finding, fix in actions(analysis, document, 0, len(text)):
        translation.action(finding, fix)
        spans += [edit.span for edit in fix.edits]
    spans += [edit.span for edit in layout_edits(analysis.loaded.parsed[0])]
    translation.diagnostics(analysis.diagnostics_of(NAME))
    assert all(0 <= span.start <= span.end <= len(text) for span in spans)


@given(st.lists(_PIECES, max_size=25).map(" ".join))
def test_all_safe_fixes_together_add_no_mistake(text):
    original = analysed(text)
    assume(original.document(NAME))
    edits = [edit for fix in safe_fixes(original, original.document(NAME)) for edit in fix.edits]
    fixed = analysed(edited(text, edits))
    assert fixed.subject.whole or not original.subject.whole
