"""Jinja templates: Jinja2's language in its sandbox, with limits on work and output.

A *view* is a value of the request as a template sees it. A *budget* is the work that one rendering has left. A mistake
that shows in the text is found at load, with its place.
"""

from tornado_proxy.templates.jinja.template import JinjaTemplate, compile_template

__all__ = ["JinjaTemplate", "compile_template"]
