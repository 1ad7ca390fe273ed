from tornado_proxy.cli.painting import painted


def test_what_goes_is_red_and_what_comes_is_green():
    """Headings are bold, places cyan; all else is as it is."""
    lines = ["--- a", "+++ b", "@@ -1 +1 @@", "-old", "  + new", " same"]
    assert list(painted(lines)) == [
        "\x1b[1m--- a\x1b[0m",
        "\x1b[1m+++ b\x1b[0m",
        "\x1b[36m@@ -1 +1 @@\x1b[0m",
        "\x1b[31m-old\x1b[0m",
        "\x1b[32m  + new\x1b[0m",
        " same",
    ]


def test_a_line_cannot_steer_the_terminal():
    """Control characters of a file have stand-ins."""
    assert list(painted(["+\x1b[2J", "\x07"])) == ["\x1b[32m+␛[2J\x1b[0m", "␇"]
