"""From another proxy's configuration to this project's: settings, rule files, and a report of what became of what.

Nouns: an *option* is a value of the other configuration with its place; a *section* is a mapping of options being
read, which knows what nobody asked for; a *remark* says what became of an option; the *report* is all remarks; a
*conversion* is the files to be written and the report.

Two laws hold. A rewrite is carried over only where it is proved to make the same key of the same requests; and nothing
becomes open that was closed: what cannot be said of access here leaves the paths that it spoke of to nobody.
"""
