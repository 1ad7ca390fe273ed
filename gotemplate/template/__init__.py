"""Go templates: the syntax and semantics of Go's text/template.

Nouns: a template's text is *scanned* into text and actions, an action is *parsed* by the grammar `gotemplate.lark`,
actions nest into a *body*; bodies are compiled to closures, which make a *program*. A *value* is one of Go's, of a
*type*; a *vocabulary* is the functions that a template may call; a *run* is one execution, with a *budget*.
"""
