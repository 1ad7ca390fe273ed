import pytest
from go_programs import HELM, budget

from tornado_proxy.templates.errors import LimitError
from tornado_proxy.templates.golang.limits import Limits
from tornado_proxy.templates.golang.program import Program
from tornado_proxy.templates.golang.values import from_json

LONG = "{{$k := repeat 12 .}}"


def test_steps_run_out():
    """The last one may be taken, no more."""
    left = budget(steps=3)
    left.spend(3)
    with pytest.raises(LimitError, match="more than 3 steps"):
        left.spend()


def test_texts_cost_by_their_length():
    """One step for sixteen bytes, up to a largest size."""
    left = budget(steps=10, text=100)
    left.text(64)
    assert left.left == 6
    left.fit(100)
    assert left.left == 6
    with pytest.raises(LimitError, match="a text of more than 100 bytes"):
        left.text(101)


def test_lists_cost_by_their_length():
    """One step for eight elements, up to a largest size."""
    left = budget(steps=10, items=20)
    left.items(16)
    assert left.left == 8
    with pytest.raises(LimitError, match="a list of more than 20 elements"):
        left.items(21)


def test_nesting_has_a_depth():
    """Of templates and of values."""
    left = budget(depth=2)
    left.nest(2)
    with pytest.raises(LimitError, match="deeper than 2 levels"):
        left.nest(3)


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
        r'{{regexMatch "\\pL{1000}" "a"}}',
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
def test_hostile_templates_end_with_an_error(text):
    """Whatever multiplies work or memory is cut off."""
    with pytest.raises(LimitError):
        Program(text, HELM).execute(from_json("/a long key " * 8), Limits())
