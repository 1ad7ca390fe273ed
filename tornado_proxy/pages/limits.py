"""The limits of pages."""

from __future__ import annotations

LONGEST_VIA = 4000
"""Characters of the tokens of earlier pages in a link: servers limit the length of a request line."""

LARGEST_TEMPLATE = 1024 * 1024
"""Bytes of a template file. In the manual."""

LARGEST_README = 32 * 1024
"""Bytes of a README that is shown."""
LARGEST_HTML = 256 * 1024
"""Bytes of a README as HTML."""
READMES_KEPT = 16
"""READMEs that are kept as HTML."""
MOST_README_STEPS = 50_000
"""Steps of the parser of a README."""
MOST_README_CELLS = 20_000
"""Cells of a table as wide as the widest line and as high as the text: empty rows get all cells."""

LARGEST_BUCKET_TEMPLATE = 256 * 1024
"""Bytes of a template in a bucket. In the manual."""
TEMPLATE_FRESH = 60.0
"""Seconds for which a page read from a bucket is used without a look there. In the manual."""
PAGE_WITHIN = 1.0
"""Seconds that an error waits for its page. In the manual."""
TEMPLATE_AGAIN_AFTER = 5.0
"""Seconds after which a template that could not be read is tried again."""
ENTRIES_ON_LOOP = 100
"""Entries up to which a page is rendered on the event loop."""
