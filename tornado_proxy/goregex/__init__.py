r"""Go's regular expressions (package regexp/syntax): parsed once, matched by RE2, compared with one another by proofs.

A text is parsed to a *tree*; the tree is printed as the *program* that RE2 reads, so that RE2 finds what Go finds; an
*automaton* over the same tree answers which keys two expressions share, and which keys no rewrite ever takes.
"""
