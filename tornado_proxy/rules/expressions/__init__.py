r"""Go's regular expressions, read as Go 1.27 reads them and said again so that RE2 finds the same.

Nouns: an *expression* is a text in Go's syntax (package regexp/syntax); its *program* is what RE2 is given instead;
a *piece* is one operand of an expression with the sizes that Go limits; a *property* is a Unicode class such as
`\p{Greek}`; *ranges* are a set of code points. This package refuses what Go refuses, says where, and what to write
instead; where RE2 would answer otherwise than Go, the program is what differs from the text.
"""
