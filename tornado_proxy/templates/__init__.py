"""Text with holes: a template is compiled once, at load, and rendered for each key that its rewrite matched.

Nouns: a *dialect* is how a template is written (plain, jinja, go); *captures* are what the source's groups took;
*data* is what a template may read of the request; a *mistake* is found at load, a *failure* at rendering.
"""
