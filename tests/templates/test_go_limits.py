import random
import time
from contextlib import suppress

import pytest
from go_programs import HELM, json_value

from gotemplate.regexp.matching import Captures
from gotemplate.template.errors import LimitError, RenderBudget, RenderError, RenderLimits, TemplateMistake
from gotemplate.template.program import Program
from gotemplate.template.values import ExecutionError
from tornado_proxy.semantics.request import Request, User
from tornado_proxy.templates.go import vocabulary
from tornado_proxy.templates.go_data import root
from tornado_proxy.templates.template import TargetKeyRewriteData

BOUND = 0.4
"""The longest rendering in seconds: four times that of the documentation, because a machine may be slow and busy."""

SHARE = 4
"""Each function is tested with a quarter of the steps, of the request and of the time, because there are many."""

LONG = "{{$k := repeat 12 .}}"


def _data(share=1):
    """Returns the data of the largest request that a server accepts, or of a fraction of it."""
    request = Request(
        path="/" + "é " * (15_000 // share),
        raw_query="&".join(f"a{number}=%61+" for number in range(6500 // share)),
        headers=(("X", "y" * (60_000 // share)), *((f"a{number}", "") for number in range(3000 // share))),
    )
    return TargetKeyRewriteData("/" + "é" * 511, User("ann"), request)


LARGE, QUARTER = _data(), _data(SHARE)


def _ends_in_time(text, data=LARGE, share=1):
    """Returns whether the best of three renderings takes its share of the time; other processes may disturb one."""
    program, limits = Program(text, vocabulary()), RenderLimits(steps=RenderLimits().steps // share)
    for _ in range(3):
        started = time.process_time()
        with suppress(RenderError):
            budget = RenderBudget(limits)
            program.execute(root(Captures(("/",)), data, budget), budget)
        if time.process_time() - started < BOUND / share:
            return True
    return False


@pytest.mark.parametrize(
    "call",
    [
        '.FormValue "a1"', ".RequestURI", ".Referer", ".UserAgent", '.Header.Get "X"',
        '.Header.Get (repeat 8000 "x-")', ".URL.Query", ".URL.Query.Encode", '.URL.Query.Get "a1"', ".URL.Query.a1",
        ".URL.String", ".URL.EscapedPath", ".URL.RequestURI", ".URL.EscapedFragment",
    ],
)  # fmt: skip
def test_repeated_reads_of_a_large_request_are_charged(call):
    """The parts of a request are parsed once, and each read is charged by the size of the result."""
    assert _ends_in_time("{{range until 4000}}{{$_ := $.Request" + call + "}}{{end}}")


TEXTS = tuple(
    f"(repeat {size} {text})"
    for size in (7, 100, 500, 4000)
    for text in ('"a"', '" é"', '"%61"', '"[1,"', '"A1-"', '"/.."', '"\\xff"', '"&<"', '"Jan 2 "', '"%+q "', '"1.2 "')
)
ANYTHING = (
    *TEXTS,
    *(
        "(until 1000)", "(until 4000)", '(splitList "" (repeat 2000 "ba"))', "(list $t $t $t)", "$t", "$v", "$d",
        "1e308",
    ),
    *("$.Request.Header", "$.Request.URL.Query", "$.Groups", "nil", "$.User.GetGroups"),
)  # fmt: skip
ARGUMENTS = {
    "string": (*TEXTS, "$.Key", '"2006-01-02T15:04:05.999Z07:00 Mon Jan"', '"^1.2 || ~2"', "$.Request.URL.RawQuery"),
    "int": ("0", "1", "-1", "60", "4000", "9223372036854775807"),
    "float64": ("1.5", "-1e308"),
    "bool": ("true", "false"),
    "map[string]interface {}": ("(dict)", "$d"),
    "time.Time": ("$t",),
}
SETUP = (
    '{{$t := toDate "2006-01-02" "2024-05-06"}}{{$v := semver "1.2.3-a.b"}}{{$d := dict}}'
    '{{range until 12}}{{$d = dict "a" $d "b" $d}}{{end}}'
)


@pytest.mark.parametrize("name", sorted(vocabulary().functions))
def test_a_function_is_charged_for_any_arguments(name):
    """Each function charges for its work, with arguments of any size and kind."""
    draw = random.Random(name)
    function = vocabulary().functions[name]
    for _ in range(2):
        parameters = [*function.parameters, *([function.rest] * draw.randrange(4) if function.rest else ())]
        values = [draw.choice(ARGUMENTS.get(parameter.name, ANYTHING)) for parameter in parameters]
        call = " ".join((name, *values))
        with suppress(TemplateMistake):
            assert _ends_in_time(SETUP + "{{range until 4000}}{{$_ := " + call + "}}{{end}}", QUARTER, SHARE), call


def test_each_name_of_a_path_is_charged():
    path = "$d" + ".a" * 10_000
    text = '{{$d := dict}}{{$_ := set $d "a" $d}}{{range until 4000}}{{$_ = ' + path + "}}{{end}}"
    assert _ends_in_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "{{range until 4000}}{{range until 4000}}x{{end}}{{end}}",
        "{{range 1000000000}}{{end}}",
        '{{define "a"}}{{template "a" .}}{{end}}{{template "a" .}}',
        '{{define "a"}}{{include "a" .}}{{end}}{{include "a" .}}',
        '{{define "a"}}' + "{{if .}}" * 90 + '{{template "a" .}}' + "{{end}}" * 90 + '{{end}}{{template "a" .}}',
        '{{repeat 100000000 "x"}}',
        '{{$x := "x"}}{{range until 40}}{{$x = printf "%s%s" $x $x}}{{end}}',
        '{{printf "%1000000d" 1}}',
        '{{printf "%.1000000d" 1}}',
        '{{printf "%.1000000U" 1}}',
        '{{printf "%.1000000f" 1.0}}',
        '{{printf "%0*.1f" 1000000 1.5}}',
        '{{printf "%1000000s" "a"}}',
        "{{$x := list 1}}{{range until 40}}{{$x = concat $x $x}}{{end}}",
        "{{$x := list 1}}{{range until 40}}{{$x = list $x $x $x $x}}{{end}}{{$x}}",
        '{{$d := dict}}{{$_ := set $d "a" $d}}{{$d}}',
        '{{$d := dict}}{{$_ := set $d "a" $d}}{{toJson $d}}',
        '{{$d := dict}}{{$_ := set $d "a" $d}}{{deepCopy $d}}',
        '{{$d := dict}}{{$e := dict "a" $d}}{{$_ := set $d "a" $e}}{{deepEqual $d $e}}',
        '{{$d := dict}}{{$e := dict}}{{$_ := set $d "a" $d}}{{$_ = set $e "a" $e}}{{merge $d $e}}',
        '{{indent 1000000 "a"}}',
        '{{replace "" "xxxxxxxxxx" (repeat 1000 .)}}',
        "{{join (repeat 100 .) (until 4000)}}",
        "{{until 1000000000}}",
        "{{seq 1000000000}}",
        '{{splitList "" (repeat 1000 .)}}',
        '{{fromJson (repeat 16000 "[")}}',
        '{{regexReplaceAll "a" (repeat 16000 "a") "aaaa"}}',
        '{{regexReplaceAll "(.*)" (repeat 16000 "a") "$1$1$1$1"}}',
        '{{regexMatch (repeat 2049 "a") "a"}}',
        r'{{regexMatch (print "\\pL{1000}") "a"}}',
        r'{{range until 4000}}{{$_ := regexMatch (printf "\\pL{%d}" .) "a"}}{{end}}',
        '{{regexFindAll "(?:[^x]?){1000}y" (repeat 100 .) -1}}',
        '{{$d := dict}}{{range until 55}}{{$d = dict "a" $d "b" $d}}{{end}}{{merge $d (dict "a" $d)}}',
        "{{range until 4000}}" + "{{.}}" * 100 + "{{end}}",
        LONG + "{{range until 4000}}{{$_ := snakecase $k}}{{end}}",
        LONG + "{{range until 4000}}{{$_ := toJson $k}}{{end}}",
        LONG + '{{range until 4000}}{{$_ := regexReplaceAll "(x*)y|." $k "$1$1"}}{{end}}',
        '{{range until 4000}}{{$_ := regexMatch (printf "(x{500}y{%d})" .) "x"}}{{end}}',
        '{{range until 4000}}{{$_ := semverCompare "^1.2.3 || ~2" "1.2.3"}}{{end}}',
        "{{range until 4000}}{{$_ := mulf 1e308 1e308 1e308}}{{end}}",
        "{{$l := until 4000}}{{range until 4000}}{{range $l}}{{break}}{{end}}{{end}}",
        "".join(f"{{{{$v{number} := 1}}}}" for number in range(1500)) + "{{range until 4000}}{{$v0}}{{end}}",
    ],
)
def test_hostile_templates_exceed_a_limit(text):
    with pytest.raises(LimitError):
        Program(text, HELM).execute(json_value("/a long key " * 8), RenderBudget(RenderLimits()))


def test_a_failure_may_have_a_context():
    """The failed part of the template stands behind the message once it is set."""
    error = ExecutionError("there is nothing to compare with")
    assert isinstance(error, RenderError)
    assert str(error) == "there is nothing to compare with"
    error.context = "eq .X"
    assert str(error) == "there is nothing to compare with, in `eq .X`"
