"""Jinja templates: Jinja2's language in its sandbox, with only what is harmless, and with work and output bounded.

Nouns: a *view* is what a template sees of the request, with no attribute that the request did not give it; a *budget*
is what one rendering may still take; a *mistake* that can be seen in the text is found at load, with its place.
"""

from tornado_proxy.templates.jinja.template import JinjaTemplate, compile_template

__all__ = ["JinjaTemplate", "compile_template"]
