"""The go dialect: Go templates with the functions of sprig, over a request's data, for rules and for pages."""

from tornado_proxy.templates.go.template import GoTemplate, compile_template

__all__ = ["GoTemplate", "compile_template"]
