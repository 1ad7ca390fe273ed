from tornado_proxy.lint.reporters.github import render


def test_a_command_for_each_finding(report, golden):
    """Severity, place and title; whatever means something in a command is escaped."""
    golden(render(report), "github.txt")


def test_every_command_is_one_line(report):
    """A message on several lines would end the command."""
    assert all(line.startswith("::") for line in render(report).splitlines())
    assert len(render(report).splitlines()) == len(report.diagnostics)


def test_a_clean_run(clean):
    """There is nothing to tell the workflow."""
    assert render(clean) == ""
