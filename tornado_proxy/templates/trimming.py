"""The white space that is no part of a key: `jinja` and `go` templates lose their line ends and outer spaces."""

from __future__ import annotations

GO_SPACES = (
    "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)
"""What Go's unicode.IsSpace holds for: White_Space, without the separators U+001C to U+001F that Python strips too."""


def trimmed(text: str) -> str:
    """A text without line ends, then without spaces at its ends, as s3-proxy does with strings.TrimSpace."""
    return text.replace("\r\n", "").replace("\n", "").strip(GO_SPACES)
