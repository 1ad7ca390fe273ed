"""Rules: documents are compiled to rule sets, and a rule set rewrites keys as symbolic links would.

Nouns: a *rewrite* is a pattern (`golang.regexp`) and a template; a *rule set* is all rewrites of a target, in order,
frozen; a *key* is the path below the mount, starting with `/`.

As a library: `load("rules/")["site"].rewrite("/file.html", user="ann")`.
"""

from tornado_proxy.rules.loading import RuleFileError, load

__all__ = ["RuleFileError", "load"]
