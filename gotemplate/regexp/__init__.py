"""Go's regular expressions (package regexp/syntax): parsed once, matched by RE2, and compared by proofs.

A text is parsed to a *tree*. The tree is printed as the *program* that RE2 reads, so that RE2 finds what Go finds. An
*automaton* made from the same tree shows which keys two expressions share, and which rewrites no key reaches.
"""
