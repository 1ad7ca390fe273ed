"""The rule language: a source file is parsed into a document of statements, with a diagnostic for each mistake.

Nouns: a *source file* is text with a name; a *span* is a place in it; a *diagnostic* is something to say about a
span; a *document* is the frozen syntax tree of one file, comments kept; the *printer* turns it into text again.
"""
