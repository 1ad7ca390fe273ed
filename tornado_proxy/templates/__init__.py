"""Templates: compiled once, at load, and rendered for each key that their rewrite matched.

A *dialect* is a way to write a template: plain, jinja or go. *Captures* are the groups of a match. *Data* is what a
template can read of the request. A *mistake* is found at load, a *failure* at rendering.
"""
