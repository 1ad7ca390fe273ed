"""The codes of the diagnostics of parser, compiler and configuration, each explained in a sentence."""

from __future__ import annotations

from collections.abc import Mapping

_RULES: Mapping[str, str] = {
    "syntax-error": "Something else was expected; the help says what was probably meant.",
    "unterminated-string": "A string without its closing quote or backtick.",
    "bad-escape": "A backslash that begins no escape, in a quoted string.",
    "unclosed-block": "A block without its closing brace; a note shows where it opens.",
    "outside-block": "A statement that belongs to no target.",
    "repeated-clause": "A clause of a test that stands twice.",
    "control-character": "A character that nobody can see, outside of strings.",
    "not-utf-8": "A file in another encoding, or that is not text.",
    "too-many-mistakes": "After 1000 mistakes the rest of the file is not read.",
    "bad-source": "A source that is not a regular expression in Go's syntax.",
    "bad-template": "A template that is none of its dialect, or names what does not exist.",
    "bad-test": "A test of a request that no client can make, or that the service refuses before it asks any rule.",
    "duplicate-name": "Two rewrites of a target have one name; a note shows the first.",
    "unreadable-file": "A file that is missing or cannot be read.",
    "no-rule-files": "A place that does not exist, or holds no rule file.",
    "rules-too-large": "The rule files have more than 8 MiB together.",
}

_CONFIGURATION: Mapping[str, str] = {
    "yaml-syntax": "The text is not YAML.",
    "unsupported-yaml": "YAML that no configuration needs: tags, a second document, broken or excessive aliases.",
    "duplicate-key": "A key is given twice in one mapping.",
    "bad-key": "A key is not a string: quote it.",
    "unknown-option": "No option is called so, here.",
    "missing-option": "An option is required.",
    "empty-value": "An option, a list or the file has nothing in it.",
    "wrong-type": "A string, a number, a list or a section where another belongs.",
    "ambiguous-number": "A number that YAML versions read differently.",
    "bad-value": "The type fits, the value does not.",
    "secret-reference": "A secret's place is not named, or more than one is.",
    "missing-secret": "Nothing, or nothing readable, is where a secret should be.",
    "plain-secret": "A secret stands in the file itself.",
    "overlapping-mounts": "Two targets have the same host and path.",
    "duplicate-mount": "A target lists a path twice.",
    "same-listener": "Both servers listen on one port.",
    "duplicate-place": "A place of rules is listed twice.",
    "undecided-resource": "A resource says neither who may nor that anyone may.",
    "contradiction": "A resource says both who may and that anyone may.",
    "unknown-provider": "A resource names a provider that there is not.",
    "missing-credentials": "A resource names a provider and no user.",
    "duplicate-user": "A resource lists a user twice.",
    "unused-provider": "No resource names the provider.",
    "unreachable-resource": "Earlier resources take all its requests.",
    "uncovered-method": "An action is on that no resource speaks of, so nobody may.",
    "open-writes": "Anyone may upload or remove.",
    "outside-mount": "A glob covers nothing of its target.",
    "glob-syntax": "A wildcard of other globs, which stands for itself here.",
    "percent-escape": "An escape in a path, which stands for itself.",
    "bucket-name": "A name that AWS would refuse.",
    "too-many-parts": "The largest upload does not fit into S3's 10,000 parts.",
}

CODES: Mapping[str, str] = {**_RULES, **_CONFIGURATION}
"""What each code means, in a sentence."""


def explain_code(code: str) -> str:
    """Returns the page that `lint --explain` prints for a code."""
    if code in _RULES:
        nature = "It is a mistake, not a check: files that have it are not loaded, and nothing turns it off."
        return f"{code} (rules)\n\n{_RULES[code]}\n\n{nature}"
    nature = "It is reported whichever checks are selected; a warning only where all are."
    return f"{code} (configuration)\n\n{_CONFIGURATION[code]}\n\n{nature}"
