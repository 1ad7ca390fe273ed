"""A `jinja` template: compiled once, at load, and rendered for each key that its rewrite matched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import jinja2
from jinja2 import nodes

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates.data import TargetKeyRewriteData
from tornado_proxy.templates.errors import LimitError, RenderError, TemplateMistake
from tornado_proxy.templates.jinja.budget import KEY, Budget
from tornado_proxy.templates.jinja.environment import KeyEnvironment
from tornado_proxy.templates.jinja.instrument import instrument
from tornado_proxy.templates.jinja.reading import Facts, read
from tornado_proxy.templates.jinja.source import Tokens, parse
from tornado_proxy.templates.jinja.texts import backticked
from tornado_proxy.templates.jinja.views import variables
from tornado_proxy.templates.trimming import trimmed

_ENVIRONMENT = KeyEnvironment()
_LONGEST_MESSAGE = 200  # Python's may hold the values that it speaks of


@dataclass(frozen=True, slots=True)
class JinjaTemplate:
    """A template of Jinja2's language, in its sandbox, bounded; threads may share it."""

    text: str
    _facts: Facts = field(compare=False, repr=False)
    _compiled: jinja2.Template = field(compare=False, repr=False)

    @property
    def group_references(self) -> tuple[tuple[str, int, int], ...]:
        """The groups that it names by literals."""
        return self._facts.group_references

    @property
    def reads_user(self) -> bool:
        """Whether it asks more of the user than whether there is one."""
        return self._facts.reads_user

    def render(self, captures: Captures, data: TargetKeyRewriteData) -> str:
        """What it writes, without line ends and outer spaces; raises `RenderError`."""
        context = self._compiled.new_context({**variables(captures, data), KEY: Budget()})
        try:
            # Not Template.render: on an error it would rewrite the traceback by line numbers, which here are offsets.
            return trimmed("".join(self._compiled.root_render_func(context)))
        except RenderError:
            raise
        except RecursionError as error:
            raise LimitError("the template nests too deeply") from error
        except Exception as error:  # a template may raise whatever Python's operators and Jinja2's filters raise
            raise RenderError(backticked(str(error)[:_LONGEST_MESSAGE]) or type(error).__name__) from error


def compile_template(text: str, names: Mapping[str, int], group_count: int) -> JinjaTemplate:
    """The template of a text, for a source with these groups; raises `TemplateMistake`."""
    try:
        tree, tokens = parse(_ENVIRONMENT, text)
        facts = read(tree, tokens, names, group_count)
        compiled = _compiled(tree, tokens)
    except RecursionError as error:
        raise TemplateMistake("the template nests too deeply") from error
    return JinjaTemplate(text, facts, compiled)


def _compiled(tree: nodes.Template, tokens: Tokens) -> jinja2.Template:
    try:
        code = _ENVIRONMENT.compile(instrument(tree))
    except jinja2.TemplateSyntaxError as error:
        raise TemplateMistake(backticked(str(error.message)), error.lineno, tokens.end(error.lineno)) from error
    except SyntaxError as error:
        # Python finds what Jinja2 does not look for: a name that stands twice among arguments.
        raise TemplateMistake(error.msg) from error
    return jinja2.Template.from_code(_ENVIRONMENT, code, _ENVIRONMENT.make_globals(None))
