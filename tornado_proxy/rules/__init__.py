"""The rule language: a file is parsed into a document of statements, with a diagnostic for each mistake.

Documents are compiled to rule sets, and a rule set rewrites keys as symbolic links would.

As a library: `load("rules/")["site"].rewrite("/file.html", user="ann")`.
"""

from tornado_proxy.rules.loading import RuleFileError, load

__all__ = ["RuleFileError", "load"]
