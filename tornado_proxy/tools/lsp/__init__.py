"""The language server for rule files.

A *workspace* is the rule files on disk, overlaid with the texts that are open in editors. An *analysis* is the result
of parser, compiler and checks for the files that belong together. A *node* is the part of the syntax tree at an offset.
Features are pure functions of an analysis or a text; `server` converts their results to the types of the protocol, and
speaks to pygls.
"""
