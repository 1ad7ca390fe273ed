"""A request becomes a plan: which target, which key, who may, and what to try in which order. Pure.

Nouns: a *request path* is decoded once; a *mount* leads it to a target and a *key*; *access* says who may; the rule
set rewrites the key; an *object key* is what S3 sees; a *plan* is a sequence of *attempts*, the last of which answers.
"""
