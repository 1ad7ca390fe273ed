"""Go's regular expressions (package regexp/syntax): parsed once, matched by RE2, and compared by proofs.

A text is parsed to a *tree*. The tree is printed as the *program* that RE2 reads, so that RE2 finds what Go finds. An
*automaton* made from the same tree shows which keys two expressions share, and which of a list no key reaches. A *key*
is a path as a server gets it: it begins with `/` and has no `.` and `..` segments, no control characters and at most
1,025 bytes. A *source* is an expression of an ordered list, of which the first that matches a key takes it.
"""
