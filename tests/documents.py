"""Strategies for documents of the rule language, and for their texts with any layout."""

import re

from hypothesis import strategies as st

from tornado_proxy.rules.diagnostic import SourceFile, Span
from tornado_proxy.rules.tree import (
    NO_WORDS,
    Comment,
    Dialect,
    Document,
    ListStatement,
    Literal,
    Redirecting,
    RedirectTo,
    RequestClauses,
    RewriteStatement,
    RuleKind,
    TargetBlock,
    TestStatement,
    Verdict,
    print_document,
)

_NOWHERE = SourceFile("generated.rules", "")
_SPAN = Span(_NOWHERE, 0, 0)
_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|`[^`]*`|->|[{}]|[\w.-]+')

_values = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_tricky = st.text(st.sampled_from('`"\\\r\n\t #{}->;'), max_size=6)
_keywords = st.sampled_from(
    ["target", "rewrite", "test", "jinja", "go", "as", "header", "user-groups", "error", "gone", "if", "a-"]
)
_comment_texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)

literals = st.builds(
    Literal, st.one_of(_values, _tricky, st.sampled_from(["/a", r"^/x\.html$"])), st.just(_SPAN), st.booleans()
)
names = st.builds(
    Literal, st.one_of(_keywords, st.from_regex(r"[A-Za-z_][\w.-]{0,5}", fullmatch=True), _values), st.just(_SPAN)
)
_statuses = st.sampled_from([None, 301, 302, 303, 307, 308])
_redirecting = st.builds(Redirecting, _statuses, st.booleans(), st.booleans())
clauses = st.builds(
    RequestClauses,
    user=st.none() | literals,
    method=st.none() | names,
    host=st.none() | literals,
    headers=st.lists(st.tuples(literals, literals), max_size=2).map(tuple),
    user_groups=st.none() | literals,
    email=st.none() | literals,
)


def _documents(
    comments: st.SearchStrategy[tuple[Comment, ...]], comment: st.SearchStrategy[Comment | None]
) -> st.SearchStrategy[Document]:
    """Documents with comments drawn from `comments` where several may stand, and from `comment` where one may."""
    layout = {"span": st.just(_SPAN), "comments": comments, "trailing": comment, "blank_before": st.booleans()}
    rewrites = st.builds(
        RewriteStatement,
        name=st.none() | names,
        source=literals,
        dialect=st.sampled_from(Dialect),
        template=literals,
        **layout,
    )
    pair = {"name": st.none() | names, "source": literals}
    redirects = st.builds(
        RewriteStatement,
        **pair,
        dialect=st.sampled_from(Dialect),
        template=literals,
        kind=st.just(RuleKind.REDIRECT),
        redirecting=_redirecting,
        **layout,
    )
    nothing = {
        "dialect": st.just(Dialect.PLAIN),
        "template": st.just(Literal("", _SPAN)),
        "kind": st.just(RuleKind.GONE),
    }
    gone = st.builds(RewriteStatement, **pair, **nothing, **layout)
    of_lists = {"file": literals, "any_case": st.booleans()}
    lists = st.builds(ListStatement, kind=st.just(RuleKind.REDIRECT), **of_lists, redirecting=_redirecting, **layout)
    keys = st.builds(ListStatement, kind=st.just(RuleKind.REWRITE), **of_lists, redirecting=st.just(NO_WORDS), **layout)
    expected = literals | st.sampled_from(Verdict) | st.builds(RedirectTo, literals, _statuses)
    rule_tests = st.builds(TestStatement, key=literals, clauses=clauses, expected=expected, **layout)
    blocks = st.builds(
        TargetBlock,
        name=names,
        statements=st.lists(rewrites | rule_tests | redirects | gone | lists | keys, max_size=4).map(tuple),
        opening=comment,
        closing=comments,
        **layout,
    )
    return st.builds(
        Document, source=st.just(_NOWHERE), blocks=st.lists(blocks, max_size=3).map(tuple), closing=comments
    )


_comments = st.builds(Comment, _comment_texts.map(lambda text: f"#{text}".rstrip()), st.just(_SPAN), st.booleans())
documents = _documents(st.lists(_comments, max_size=2).map(tuple), st.none() | _comments)
_bare_texts = _documents(st.just(()), st.none()).map(print_document)


def comment_texts(document: Document) -> list[str]:
    """The texts of all comments of a document, from top to bottom."""
    comments: list[Comment | None] = []
    for block in document.blocks:
        of_statements = [comment for each in block.statements for comment in (*each.comments, each.trailing)]
        comments += [*block.comments, block.opening, *of_statements, *block.closing, block.trailing]
    return [comment.text for comment in (*comments, *document.closing) if comment]


@st.composite
def scattered_texts(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A valid text with arbitrary space and comments between its tokens, and the texts of the comments."""
    bare = draw(_bare_texts)
    scattered, drawn_comments = [], []
    for token in ("", *_TOKEN.findall(bare)):
        space = draw(st.sampled_from([" ", "\n", "\n\n", "\r\n", "\t", " # one\n", "\n# two\r\n\n"]))
        drawn_comments += re.findall(r"# \w+", space)
        scattered += [token, space]
    return "".join(scattered), drawn_comments
