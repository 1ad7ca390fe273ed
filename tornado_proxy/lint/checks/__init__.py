"""All checks of the linter: a function for each check, in a module for each topic.

They run by category, and within one in the order of these modules: first those about rules that have no effect at all.
The last one, about allowances, uses the findings of the others.
"""

from tornado_proxy.lint.check import Category, Check
from tornado_proxy.lint.checks import moved, order, results, texts

_FOUND = [each for topic in (order, moved, texts, results) for each in vars(topic).values() if isinstance(each, Check)]

CHECKS: tuple[Check, ...] = tuple(each for category in Category for each in _FOUND if each.category is category)
