"""Go templates: the syntax and semantics of Go's text/template, and the functions of sprig that are deterministic.

Nouns: a template's text is *scanned* into text and actions, an action is *parsed* by the grammar `gotemplate.lark`,
actions nest into a *body*; bodies are compiled to closures, which make a *program*. A *value* is one of Go's, of a
*type*; a *vocabulary* is the functions that a template may call; a *run* is one execution, with a *budget*.

A program runs over any data; `compile_template` makes one for rules, whose data is that of a request.
"""

from tornado_proxy.templates.golang.template import GoTemplate, compile_template

__all__ = ["GoTemplate", "compile_template"]
