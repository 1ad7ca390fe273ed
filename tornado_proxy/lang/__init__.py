"""The rule language: a source file is parsed into a document of statements, with a diagnostic for each mistake.

A *span* is a place in a *source file*, a *document* is the frozen syntax tree of one file with its comments, and the
*printer* turns a document into text again. `reading` has the state of the parser within a file; `recovery` continues
after each mistake.
"""
