import re

import pytest
from go_programs import HELM, mistake

from tornado_proxy.templates.golang.sprig.functions import REFUSED, functions
from tornado_proxy.templates.golang.sprig.lists import FUNCTIONS as LISTS
from tornado_proxy.templates.golang.template import vocabulary

# The functions of sprig 3.3.0, as its own table (GenericFuncMap) lists them.
SPRIG = """
abbrev abbrevboth add add1 add1f addf adler32sum ago all any append atoi b32dec b32enc b64dec b64enc base bcrypt
biggest buildCustomCert camelcase cat ceil chunk clean coalesce compact concat contains date dateInZone dateModify
date_in_zone date_modify decryptAES deepCopy deepEqual default derivePassword dict dig dir div divf duration
durationRound empty encryptAES env expandenv ext fail first float64 floor fromJson genCA genCAWithKey genPrivateKey
genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey get getHostByName has hasKey hasPrefix
hasSuffix hello htmlDate htmlDateInZone htpasswd indent initial initials int int64 isAbs join kebabcase keys kindIs
kindOf last list lower max maxf merge mergeOverwrite min minf mod mul mulf mustAppend mustChunk mustCompact
mustDateModify mustDeepCopy mustFirst mustFromJson mustHas mustInitial mustLast mustMerge mustMergeOverwrite
mustPrepend mustPush mustRegexFind mustRegexFindAll mustRegexMatch mustRegexReplaceAll mustRegexReplaceAllLiteral
mustRegexSplit mustRest mustReverse mustSlice mustToDate mustToJson mustToPrettyJson mustToRawJson mustUniq
mustWithout must_date_modify nindent nospace now omit osBase osClean osDir osExt osIsAbs pick pluck plural prepend
push quote randAlpha randAlphaNum randAscii randBytes randInt randNumeric regexFind regexFindAll regexMatch
regexQuoteMeta regexReplaceAll regexReplaceAllLiteral regexSplit repeat replace rest reverse round semver
semverCompare seq set sha1sum sha256sum sha512sum shuffle slice snakecase sortAlpha split splitList splitn squote sub
subf substr swapcase ternary title toDate toDecimal toJson toPrettyJson toRawJson toString toStrings trim trimAll
trimPrefix trimSuffix trimall trunc tuple typeIs typeIsLike typeOf uniq unixEpoch unset until untilStep untitle upper
urlJoin urlParse uuidv4 values without wrap wrapWith
"""


def test_every_function_of_sprig_is_there_or_refused():
    """None is forgotten, and none is made up but Helm's `include` and `tpl`."""
    assert set(functions()) | set(REFUSED) == {*re.findall(r"\w+", SPRIG), "include", "tpl"}


def test_sprig_s_slice_takes_the_place_of_go_s():
    """As wherever sprig is added to Go's functions."""
    assert HELM.functions["slice"] is LISTS["slice"]


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_cannot_be_repeated_is_refused_with_the_reason(name):
    """When the rules are loaded, not when a request comes."""
    assert str(mistake(f"{{{{ {name} }}}}", vocabulary())) == f"the function `{name}` is refused: {REFUSED[name]}"


def test_no_function_is_both_there_and_refused():
    """The tables do not overlap."""
    assert not set(REFUSED) & set(vocabulary().functions)
