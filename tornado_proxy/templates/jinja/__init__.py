"""Jinja templates: Jinja2's language in its sandbox, with limits on work and output."""

from tornado_proxy.templates.jinja.template import JinjaTemplate, compile_template

__all__ = ["JinjaTemplate", "compile_template"]
