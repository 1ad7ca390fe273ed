"""Random Go templates: calls of every function, formats, nested actions, data of requests, and invalid texts."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import template_parts as parts
from generated_values import Values

_LEXEME = re.compile(
    r"""\{\{-?|-?\}\}|"(?:\\.|[^"\\])*"|`[^`]*`|'(?:\\.|[^'\\])*'|/\*.*?\*/|[$.]?\w+|\s+|.""", re.DOTALL
)
_LEFT_OUT = re.compile(
    r"""\A(?=.*\b(?:until|untilStep|seq|repeat|n?indent|range)\b)(?=.*(?:\d{5}|\de|0x|\bint\b|\.[RF]|Big))  # Go counts for a long time
    |\b(?:set|\w*[mM]erge\w*)\s+[.$]  # a value that contains itself overflows Go's stack
    |(?:define|block)(?:(?!end).)*include  # as does a template that calls itself
    |(?<![\w)])\$?\.Groups  # data of this project only
    |\b(?:keys|values)\b(?!.*sortAlpha)  # their order is random in Go
    |range\s*\$\w*\s*,\s*\$\w*(?!\w)(?!\s*:?=)  # a mistake in this project only, see docs/go-templates.md
    """,
    re.DOTALL | re.VERBOSE,
)


def _kind_of(lexeme: str) -> str:
    """The kind of a lexeme, given by its first character."""
    first = lexeme[0]
    return "a" if first.isalpha() else "0" if first.isdigit() else '"' if first in '"`' else first


def _signatures(text: str) -> list[list[str]]:
    return [part.split() for line in text.split("\n") for part in line.split(";") if part]


@dataclass(frozen=True)
class Case:
    """A template, and whether its data is that of a request."""

    template: str
    data: Any
    request: bool = False


@dataclass
class Generator:
    """A generator of templates, which also call the functions of `sprig` if it is set; `recorded` are templates to change."""

    random: random.Random
    sprig: bool
    recorded: Sequence[Case]
    _defining: bool = field(default=False, init=False)
    _signatures: list[list[str]] = field(init=False)
    _arguments: dict[str, Sequence[str]] = field(init=False)
    _values: Values = field(init=False)
    _data: dict[str, Any] = field(init=False)
    _lexemes: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        self._values = Values(self.random)
        self._lexemes = {}
        for lexeme in sorted({each for case in self.recorded for each in _LEXEME.findall(case.template)}):
            self._lexemes.setdefault(_kind_of(lexeme), []).append(lexeme)
        self._signatures = _signatures(parts.STANDARD + parts.SPRIG if self.sprig else parts.STANDARD)
        lists, maps, others, floats = parts.LISTS, parts.MAPS, parts.OTHERS, parts.FLOATS
        if self.sprig:
            lists, maps = lists + parts.SPRIG_LISTS, maps + parts.SPRIG_MAPS
            others, floats = others + parts.SPRIG_OTHERS, floats + parts.SPRIG_FLOATS
        numbers = parts.INTEGERS + floats
        self._arguments = {
            "A": [*parts.STRINGS, *numbers, *lists, *maps, *others, ".R", ".R", ".R.a", ".Q"],
            "B": ["true", "false", ".T", "(eq 1 1)"],
            "F": numbers + parts.STRINGS[:8],
            "L": [*lists, ".Q"], "M": maps,
            "Z": ['"UTC"', '""', '"Local"'],
            "C": parts.CONSTRAINTS, "D": parts.DURATIONS, "E": parts.SEPARATORS, "H": parts.URLS, "I": parts.INTEGERS,
            "P": parts.REPLACEMENTS, "R": parts.EXPRESSIONS, "U": parts.MOMENTS, "V": parts.VERSIONS,
            "W": parts.TIME_VALUES, "X": parts.TIMES, "Y": parts.LAYOUTS,
            **dict.fromkeys("NOQS", parts.STRINGS),
        }  # fmt: skip

    def cases(self, count: int) -> Iterator[Case]:
        """Yields `count` cases of all kinds; an empty one stands for a case that cannot be compared."""
        kinds = [
            self._called, self._formatted, self._controlled, self._pieced, self._changed, self._requested,
            self._called, self._chained, self._literal, self._spaced, self._recorded, self._recorded, self._rooted,
        ]  # fmt: skip
        kinds += [self._method] if self.sprig else []
        for number in range(count):
            if number % 20 == 0:
                self._data = {**parts.DATA, "R": self._document(3), "Q": [self._document(1) for _ in range(3)]}
            case = self._one(kinds)()
            yield Case("", None) if _LEFT_OUT.search(case.template) else case

    def _document(self, depth: int) -> Any:
        """Random JSON data."""
        text = self._values.string().decode("utf-8", "replace")
        number = self.random.random() * 10 ** self.random.randint(-9, 23)
        scalars = [None, True, False, 0, 1.0, text, text, number, -number, self.random.randint(-300, 2000)]
        choice = self.random.random()
        if depth == 0 or choice < 0.5:
            return self._one(scalars)
        inner = [self._document(depth - 1) for _ in range(self.random.randint(0, 3))]
        return inner if choice < 0.75 else dict(zip("abC", inner, strict=False))

    def _one(self, choices: Sequence[Any]) -> Any:
        return self.random.choice(choices)

    def _often(self, chance: float) -> bool:
        return self.random.random() < chance

    def _argument(self, kind: str) -> str:
        if kind == "J":
            return str(self._one(parts.SMALL))
        if self._often(0.05):
            return f"({self._call()})"
        if self._often(0.08):
            kind = "A"
        if self._values.can_make(kind) and self._often(0.5):
            return self._values.literal(kind)
        return str(self._one(self._arguments[kind]))

    def _call(self) -> str:
        name, *kinds = self._one(self._signatures)
        arguments: list[str] = []
        for kind in kinds:
            count = self.random.randint(0, 3) if kind.endswith("*") else 1
            # A layout is also a time, so it can be parsed with itself.
            repeat = kind == "X" and self._often(0.5)
            arguments += [arguments[-1] if repeat else self._argument(kind[0]) for _ in range(count)]
        if arguments and self._often(0.02):
            arguments.pop()
        return " ".join([name, *arguments])

    def _piped(self) -> str:
        call = self._call()
        return f"({call}) | {self._one(self._signatures)[0]}" if self._often(0.1) else call

    def _called(self) -> Case:
        call = self._piped()
        forms = ["{{ %s }}", '{{ printf "%%v|%%T" (%s) 1 }}', '{{ printf "%%T %%#v" 1 (%s) }}']
        if self.sprig:
            forms += ["{{ %s | toJson }}", "{{ %s | quote }}"]
        return Case(self._one(forms) % call, self._data)

    def _chained(self) -> Case:
        """A value piped through functions, or a field of a value."""
        text = self._argument("A")
        for _ in range(self.random.randint(1, 4)):
            choice = self.random.random()
            if choice < 0.3:
                fields = [".a", ".b", ".x", ".S", ".M.c", ".c.d", "._0", ".Nope", " .", ".", ".a.b"]
                text = f"({text}){self._one(fields)}"
            elif choice < 0.4:
                text = f"{self._one(['$x := ', '$x, $y := ', '$x = ', ''])}{text}"
            else:
                called = self._call().split(" ")
                text += f" {self._one(['|', '| ', ' | '])}" + " ".join(called[:-1] or called)
        return Case("{{$x := 1}}" * self._often(0.3) + self._action(text) + "{{$x}}" * self._often(0.2), self._data)

    def _literal(self) -> Case:
        """Numbers, characters and strings in all forms."""
        make = self._one([self._values.number, self._values.number, self._values.character, self._values.escaped])
        text = make()
        forms = [
            "%s", "print %s", 'printf "%%T %%v" %s {0}', 'printf "%%d %%x" %s {0}', "eq %s {0}", "lt %s {0}", "len %s",
            "index .Strs %s", "slice .S %s", "%s {0}", "%s | print {0}", "$x := %s", "html %s", "%s.a", "(%s)",
            "%s|js", 'printf "%%q %%c" %s {0}', "-%s", "print %s{0}", "and %s {0}", "(%s).x", "range %s", "not %s",
            "%s)",
        ]  # fmt: skip
        filled = self._one(forms).replace("%%", "%").replace("%s", text, 1).replace("{0}", make())
        return Case(self._action(filled), self._data)

    def _spaced(self) -> Case:
        """Text, comments and trim markers."""
        inside = [
            ".S", "/* c */", "/**/", "1", "-1", '"}}"', '" a "', "`\n`", "", "/* }} */", "- 1", "/*a*/ ", " /*b*/",
            "$", "-",
        ]  # fmt: skip
        pieces = [
            self._one(["", "a", " ", "\n", " \r\n\t", "é\u00a0", "{", "}", "b \n", "\v ", "-"])
            + self._one(["{{", "{{-", "{{- ", "{{ ", "{{-\n", "{{ -"])
            + self._one(inside if self._often(0.7) else [self._value()[2:-2]])
            + self._one(["}}", "-}}", " -}}", " }}", "\t-}}", "\n}}", "- }}"])
            for _ in range(self.random.randint(1, 4))
        ]
        return Case("".join(pieces) + self._one(["", " x", "\n", "\t\n y", "}}", "{{"]), self._data)

    def _recorded(self) -> Case:
        """A recorded template with some lexemes replaced, added or removed."""
        case = self._one(self.recorded)
        lexemes = _LEXEME.findall(case.template)
        for _ in range(self.random.randint(0, 3)):
            place = self.random.randrange(len(lexemes) + 1)
            chosen = lexemes[place : place + 1]
            choice = self.random.random()
            if chosen and choice < 0.6:
                lexemes[place] = self._one(self._lexemes[_kind_of(chosen[0])])
            elif choice < 0.75:
                lexemes[place:place] = [self._one(self._lexemes[self._one([*self._lexemes])]), " "]
            else:
                lexemes[place : place + self.random.randint(1, 2)] = chosen * self._one([0, 2])
        return Case("".join(lexemes), case.data, case.request)

    def _rooted(self) -> Case:
        """A template whose dot is random data."""
        form = self._one(
            ["{{.}}", "{{range .}}%s{{else}}e{{end}}", "{{with .}}%s{{else}}e{{end}}", "{{if .}}%s{{end}}", "%s"]
        )
        values = [
            "{{.}}", "{{$}}", "{{len .}}", "{{.a}}", "{{.a.b}}", "{{index . 0}}", '{{printf "%v %T" . .}}', "{{.C}}",
            "{{html .}}", "{{js .}}", "{{. | urlquery}}", "{{print . .}}", "{{eq . .}}", "{{lt . 1}}", "{{.a.C.b}}",
            "{{range $i, $x := .}}{{$i}}:{{$x}},{{end}}", "{{slice . 1}}", '{{index . "a"}}', "{{not .}}",
            "{{call .}}", f'{{{{printf "{self._verb()}" .}}}}',
        ]  # fmt: skip
        if self.sprig:
            values += [f"{{{{. | {name}}}}}" for name in parts.OF_ANYTHING]
        return Case(form.replace("%s", self._one(values)), self._document(3))

    def _formatted(self) -> Case:
        verbs = self.random.randint(1, 3)
        text = "".join(self._one(["", "a", "é ", "[", "%%"]) + self._verb() for _ in range(verbs))
        arguments = [self._argument("A") for _ in range(self.random.randint(0, verbs + 1))]
        return Case(f'{{{{ printf "{text}" {" ".join(arguments)} }}}}', self._data)

    def _verb(self) -> str:
        flags = "".join(self._one("#0+- ") for _ in range(self._one([0, 0, 1, 1, 2, 3])))
        index = f"[{self._one(['1', '2', '3', '0', 'x', '', '9'])}]" if self._often(0.15) else ""
        width = self._one(["", "", "", "*", "0", "1", "3", "8", "20", "1000001"] if self._often(0.3) else ["", "", "5"])
        precision = "." + self._one(["", "0", "1", "2", "5", "20", "*"]) if self._often(0.3) else ""
        last = f"[{self._one('12')}]" if self._often(0.05) else ""
        verb = self._one(parts.VERBS if self._often(0.95) else parts.ODD_VERBS)
        return f"%{flags}{index}{width}{precision}{last}{verb}"

    def _controlled(self) -> Case:
        text = ""
        self._defining = True
        for name in "ab":
            if self._often(0.4):
                text += self._action(f'define "{name}"') + self._body(1) + self._action("end")
        self._defining = False
        for name in ("$x", "$y"):
            text += f"{{{{{name} := {self._argument('A')}}}}}" if self._often(0.8) else ""
        return Case(text + self._body(3), self._data)

    def _action(self, inside: str) -> str:
        opening = self._one(["{{ ", "{{- ", "{{", " {{- "])
        return opening + inside + self._one([" }}", " -}}", "}}", " }} "])

    def _body(self, depth: int, *, looping: bool = False) -> str:
        return "".join(self._statement(depth, looping=looping) for _ in range(self.random.randint(1, 3)))

    def _statement(self, depth: int, *, looping: bool) -> str:
        simple = [self._text, self._value, self._assignment, lambda: self._action(self._piped())]
        if looping:
            leave = self._one(["break", "continue"])
            simple.append(lambda: self._action(f"if {self._condition()}") + self._action(leave) + self._action("end"))
        if depth <= 0:
            return str(self._one(simple)())
        nested = [
            lambda: self._branch("if", depth, looping=looping),
            lambda: self._branch("with", depth, looping=looping),
            lambda: self._loop(depth, looping=looping),
        ]
        if not self._defining:
            nested += [self._template, lambda: self._block(depth)]
        return str(self._one(simple + nested)())

    def _text(self) -> str:
        return str(self._one(["a", " b ", "\n", " \t\n x", "é", "}", "{ "]))

    def _value(self) -> str:
        values = [
            ".R", ".", "$", "$x", "$y", ".S", ".List", ".M.c.d", ".k", "$.S", "$x.a", ".Missing.x", ".N.x", "len .",
            ".c",
        ]  # fmt: skip
        return self._action(self._one([*values, 'printf "%v" .', "index . 0", "print . $x"]))

    def _assignment(self) -> str:
        return self._action(self._one(["$x", "$y"]) + self._one([" := ", " = "]) + self._one([".", self._condition()]))

    def _condition(self) -> str:
        comparison = f"{self._one(['eq', 'ne', 'lt', 'gt', 'le', 'ge'])} {self._argument('F')} {self._argument('F')}"
        value = self._one([".T", ".N", ".Empty", ".List", ".Missing", ".M", ".Zero", ".S", "$", ".", "$x", "$y"])
        declared = self._one(["$x := ", "$y := ", "$x = "]) + self._argument("A")
        joined = f"{self._one(['and', 'or', 'not'])} ({value})"
        return str(self._one([comparison, value, value, declared, joined, self._call()]))

    def _branch(self, keyword: str, depth: int, *, looping: bool) -> str:
        text = self._action(f"{keyword} {self._condition()}") + self._body(depth - 1, looping=looping)
        if self._often(0.4):
            text += self._action(f"else {keyword} {self._condition()}") + self._body(depth - 1, looping=looping)
        if self._often(0.4):
            text += self._action("else") + self._body(depth - 1, looping=looping)
        return text + self._action("end")

    def _loop(self, depth: int, *, looping: bool) -> str:
        values = [".List", ".Strs", ".M", ".EmptyList", ".EmptyMap", "3", "0", "-1", ".I", ".N", ".Missing", ".Mixed"]
        values += [".Nested", ".", "$x", ".S", "2.0", ".T"]
        variables = self._one(["", "", "$x := ", "$x, $y := ", "$y, $x := ", "$x = ", "$x, $y = "])
        text = self._action(f"range {variables}{self._one(values)}") + self._body(depth - 1, looping=True)
        if self._often(0.3):
            text += self._action("else") + self._body(depth - 1, looping=looping)
        return text + self._action("end")

    def _template(self) -> str:
        return self._action(f'template "{self._one("ab")}"' + self._one(["", " .", " $x", " .M", " 1 | print", " .N"]))

    def _block(self, depth: int) -> str:
        # A body that calls its own block would recurse until Go's limit.
        self._defining = True
        body = self._body(depth - 1)
        self._defining = False
        name, dot = self._one("abcd"), self._one([".", "$", ".M"])
        return self._action(f'block "{name}" {dot}') + body + self._action("end")

    def _pieced(self) -> Case:
        count = self.random.randint(1, 9)
        text = "".join(self._one(parts.PIECES) + self._one(["", "", " "]) for _ in range(count))
        return Case("{{" + text + "}}" if self._often(0.6) else text, self._data)

    def _changed(self) -> Case:
        text = self._one([self._called, self._formatted, self._controlled])().template
        for _ in range(self.random.randint(1, 2)):
            start = self.random.randrange(len(text) + 1)
            text = text[:start] + self._one(["", self._one(parts.PIECES)]) + text[start + self.random.randint(0, 3) :]
        return Case(text, self._data)

    def _method(self) -> Case:
        """A method of a time, a duration or a version, or a loop over a month or a day of the week."""
        arguments = {"I": parts.SMALL, "D": parts.TIME_DURATIONS, "T": parts.TIME_VALUES, "Y": parts.LAYOUTS}
        arguments |= {"N": ['""', '"rc.1"', '"x+y"', '"01"'], "V": [f"(semver {each})" for each in parts.VERSIONS]}
        time, other = (self._one(parts.TIME_VALUES) for _ in range(2))
        duration = f"({self._one([f'{time}.Sub {other}', f'({time}.Add 5000000000).Sub {time}'])})"
        version = f"(semver {self._one(parts.VERSIONS)})"
        changed = f"({version}.{self._one(['IncPatch', 'IncMajor', 'SetMetadata `x`'])})"
        if self._often(0.1):
            number = self._one(["Month", "Weekday"])
            text = f'{{{{ range {time}.{number} }}}}{{{{ printf "%T %v %d," . . . }}}}{{{{ end }}}}'
            return Case(text, self._data)
        of_version = [(version, parts.VERSION_METHODS), (changed, parts.VERSION_METHODS)]
        of_time = [(time, parts.TIME_METHODS)] * 2 + [(duration, parts.DURATION_METHODS)]
        receiver, methods = self._one(of_time + of_version)
        name, *kinds = self._one(_signatures(methods))
        arguments["V"].append(changed)
        arguments["D"].append(duration)
        call = " ".join([f"{receiver}.{name}", *(self._one(arguments[kind]) for kind in kinds)])
        return Case(self._one(parts.AROUND_METHOD).replace("%s", call).replace("%%", "%"), self._data)

    def _requested(self) -> Case:
        one, two = self._one(parts.REQUEST_VALUES), self._one(parts.REQUEST_VALUES)
        around_one = parts.AROUND_ONE + parts.AROUND_ONE_SPRIG if self.sprig else parts.AROUND_ONE
        around_two = parts.AROUND_TWO + parts.AROUND_TWO_SPRIG if self.sprig else parts.AROUND_TWO
        if self._often(0.2):
            return self._case_of_request(f'{{{{ printf "{self._verb()}{self._verb()}" {one} {two} }}}}')
        text = self._one(around_one) % one if self._often(0.8) else "{{ " + self._one(around_two) % (one, two) + " }}"
        return self._case_of_request(text)

    def _case_of_request(self, text: str) -> Case:
        return Case(text, {**parts.REQUEST, "User": self._one(parts.USERS)}, request=True)
