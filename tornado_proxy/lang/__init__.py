"""The rule language: a source file is parsed into a document of statements, with a diagnostic for each mistake.

Nouns: a *source file* is text with a name; a *span* is a place in it; a *diagnostic* is something to say about a
span; a *document* is the frozen syntax tree of one file, comments kept; a *reading* is a file on its way through the
parser, where *recovery* steps in at each mistake; the *printer* turns a document into text again.
"""
