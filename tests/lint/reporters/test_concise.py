from tornado_proxy.lint.reporters.concise import render


def test_a_line_for_each_finding(report, golden):
    """Place, severity, code and message, with nothing in them that a terminal obeys, and a summary."""
    golden(render(report), "concise.txt")


def test_a_clean_run(clean):
    """There is one line."""
    assert render(clean) == "all clean: 3 rewrites in 2 files\n"
