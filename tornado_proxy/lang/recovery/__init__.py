"""How reading goes on after a mistake, so that one run finds every mistake of a file and invents none.

Nouns: a *trouble* is a token that does not fit; a *cure* knows one kind of mistake, names it, and brings parser and
lexer to where reading can go on; a *slip* is a mistake within a statement, a *structure* mistake is one of braces and
first words; a *landmark* is where a statement seems to begin.
"""
