"""The codes of the diagnostics of parser, compiler and configuration, each explained in a sentence."""

from __future__ import annotations

from collections.abc import Mapping

RULE_CODES: Mapping[str, str] = {
    "syntax-error": "Something else was expected; the help says what was probably meant.",
    "unterminated-string": "A string without its closing quote or backtick.",
    "bad-escape": "An invalid escape in a quoted string.",
    "unclosed-block": "A block without its closing brace; a note shows where it opens.",
    "outside-block": "A statement outside of a target's block.",
    "repeated-clause": "A clause that a test already has.",
    "control-character": "An invisible character outside of strings.",
    "not-utf-8": "A file that is not UTF-8 text.",
    "too-many-mistakes": "After 1000 mistakes the rest of the file is not read.",
    "bad-source": "A source that is not a regular expression in Go's syntax.",
    "bad-template": "A template that its dialect refuses, or that refers to something unknown.",
    "bad-test": "A test of a request that no client can make, or that the service refuses before the rules see it.",
    "duplicate-name": "Two rewrites of a target with the same name; a note shows the first.",
    "unreadable-file": "A file that does not exist or cannot be read.",
    "no-rule-files": "A path that does not exist, or contains no rule file.",
    "rules-too-large": "The rule files are larger than 8 MiB together.",
}

CONFIGURATION_CODES: Mapping[str, str] = {
    "yaml-syntax": "The text is not YAML.",
    "unsupported-yaml": "YAML that no configuration needs: tags, a second document, broken or excessive aliases.",
    "duplicate-key": "A key is given twice in one mapping.",
    "bad-key": "A key is not a string: quote it.",
    "unknown-option": "There is no such option here.",
    "missing-option": "An option is required.",
    "empty-value": "An option, a list or the file is empty.",
    "wrong-type": "A string, a number, a list or a section where another belongs.",
    "ambiguous-number": "A number that YAML versions read differently.",
    "bad-value": "The type fits, the value does not.",
    "secret-reference": "A secret must name exactly one place.",
    "missing-secret": "The place of a secret is empty or cannot be read.",
    "plain-secret": "A secret is written in the file itself.",
    "overlapping-mounts": "Two targets have the same host and path.",
    "same-listener": "Both servers listen on the same port.",
    "duplicate-place": "A path of rules is listed twice.",
    "undecided-resource": "A resource says neither who has access nor that anyone has.",
    "contradiction": "A resource says both who has access and that anyone has.",
    "unknown-provider": "A resource names an unknown provider.",
    "missing-credentials": "A resource names a provider but no user.",
    "duplicate-user": "A resource lists a user twice.",
    "unreachable-resource": "Earlier resources take all its requests.",
    "uncovered-method": "No resource covers an action that is on, so nobody may use it.",
    "open-writes": "Anyone may upload or delete.",
    "outside-mount": "A glob covers nothing of its target.",
    "glob-syntax": "A wildcard of other globs, which is literal text here.",
    "percent-escape": "An escape in a path, which is literal text here.",
    "bucket-name": "A name that AWS would refuse.",
    "too-many-parts": "The largest upload needs more than S3's 10,000 parts.",
}

CODES: Mapping[str, str] = {**RULE_CODES, **CONFIGURATION_CODES}
"""What each code means, in a sentence."""


def explain_code(code: str) -> str:
    """Returns the page that `lint --explain` prints for a code."""
    if code in RULE_CODES:
        more = "It is a mistake, not a check: files that have it are not loaded, and nothing turns it off."
        return f"{code} (rules)\n\n{RULE_CODES[code]}\n\n{more}"
    more = (
        "It is reported whichever checks are selected, if it is an error; warnings are reported if `all` is selected."
    )
    return f"{code} (configuration)\n\n{CONFIGURATION_CODES[code]}\n\n{more}"
