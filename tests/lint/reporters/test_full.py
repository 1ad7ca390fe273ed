from tornado_proxy.lint.reporters.full import render


def test_every_finding_with_its_lines(report, golden):
    """Excerpt, carets, help and notes, one finding after the other, and a summary."""
    golden(render(report), "full.txt")


def test_a_clean_run(clean):
    """There is one line."""
    assert render(clean) == "all clean: 3 rewrites in 2 files\n"


def test_colours(harmless):
    """They are for terminals, when asked for."""
    assert "\x1b[" in render(harmless, color=True)
    assert "\x1b[" not in render(harmless)
