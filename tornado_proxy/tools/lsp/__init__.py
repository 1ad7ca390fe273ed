"""The language server: what an author of rules sees in an editor, from the parser, compiler and checks of the rest.

Nouns: a *workspace* is the rule files on disk with what editors have open laid over them; an *analysis* is what the
engine makes of all files that are read together, at one moment; a *node* is what stands at an offset of a file. A
feature (`hover`, `completion`, `navigation`, `edits`) is a pure function of an analysis or a text; `translation` puts
its answers into the protocol's types, counted as the client counts, and `server` and `handlers` speak to pygls.
"""
