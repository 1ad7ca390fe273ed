"""What holds for every text: each feature has an answer, and each answer can be told."""

from __future__ import annotations

from editing import NAME, after, analysed
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import PositionEncodingKind
from pygls.workspace import PositionCodec

from tornado_proxy.lang.diagnostic import Span
from tornado_proxy.tools.lsp.completion import completions
from tornado_proxy.tools.lsp.hover import definitions, hover_at, lenses, symbols
from tornado_proxy.tools.lsp.translation import Translation
from tornado_proxy.tools.lsp.workspace import actions, layout_edits, safe_fixes

_PIECES = st.sampled_from(
    [
        "target site {",
        "}",
        "rewrite",
        "test",
        "home",
        "`^/(?P<a>[^/]+)(b|c.)?$`",
        "`^/😀.x`",
        '"/b/$a/${1}"',
        "->",
        "jinja",
        "go",
        '"/{{ groups.a }}{{ user.username }}"',
        '"/{{ .Groups.a }}{{ .User.GetUsername }}"',
        '"/a/b"',
        "as ann",
        "unchanged",
        "# allow: unescaped-dot, no-effect (x)",
        "\n",
        "\r\n",
        "\u2028",
        "\ud800",
    ]
)
TEXTS = st.one_of(st.lists(_PIECES, max_size=25).map(" ".join), st.text(max_size=40)).map(
    lambda text: text.replace("‸", "")
)


@given(TEXTS, st.sampled_from(PositionEncodingKind), st.data())
def test_every_feature_answers_whatever_stands_in_the_file(text, encoding, data):
    """None fails, and what each says has a place in the file."""
    analysis = analysed(text)
    document = analysis.document(NAME)
    source = document.source
    offset = data.draw(st.integers(0, len(text)))
    told = Translation(PositionCodec(encoding))
    hover = hover_at(analysis, NAME, offset)
    spans: list[Span] = [hover[1]] if hover else []
    spans += definitions(analysis, NAME, offset)
    for proposal in completions(source, offset, ["site"]):
        told.completion(proposal, 0)
        spans.append(proposal.span)
    spans += [lens.span for lens in lenses(analysis, NAME)]
    spans += [symbol.name_span for symbol in symbols(document)]
    for finding, fix in actions(analysis, NAME, 0, len(text)):
        told.action(finding, fix)
        spans += [edit.span for edit in fix.edits]
    spans += [edit.span for edit in layout_edits(analysis.parsed[NAME])]
    told.diagnostics(source, analysis.diagnostics_of(NAME))
    assert all(0 <= span.start <= span.end <= len(text) for span in spans)


@given(st.lists(_PIECES, max_size=25).map(" ".join))
def test_all_safe_fixes_together_break_nothing(text):
    """Applied at once they leave no mistake that was not there."""
    before = analysed(text)
    edits = [edit for fix in safe_fixes(before, NAME) for edit in fix.edits]
    behind = analysed(after(text, edits))
    assert behind.subject.whole or not before.subject.whole
