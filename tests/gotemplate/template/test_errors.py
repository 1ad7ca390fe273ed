from gotemplate.template.errors import TemplateMistake


def test_a_mistake_has_a_place_and_help():
    """A mistake has its message, its start and end in the template, and help."""
    mistake = TemplateMistake("unknown variable `usr`", 3, 6, "did you mean `user`?")
    assert (str(mistake), mistake.offset, mistake.end, mistake.help) == (
        "unknown variable `usr`",
        3,
        6,
        "did you mean `user`?",
    )
