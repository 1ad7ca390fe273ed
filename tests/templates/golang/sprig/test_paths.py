import pytest
from go_programs import written


@pytest.mark.parametrize(
    ("path", "base", "directory", "clean", "extension", "absolute"),
    [
        ("/a/b.tar.gz", "b.tar.gz", "/a", "/a/b.tar.gz", ".gz", "true"),
        ("a/../b/./c//d", "d", "b/c", "b/c/d", "", "false"),
        ("", ".", ".", ".", "", "false"),
        ("/", "/", "/", "/", "", "true"),
        ("//", "/", "/", "/", "", "true"),
        ("/..", "..", "/", "/", ".", "true"),
        ("../../a", "a", "../..", "../../a", "", "false"),
        ("a/b/", "b", "a/b", "a/b", "", "false"),
        ("a", "a", ".", "a", "", "false"),
        (".b", ".b", ".", ".b", ".b", "false"),
        ("a.b/c", "c", "a.b", "a.b/c", "", "false"),
    ],
)
def test_paths_are_taken_apart(path, base, directory, clean, extension, absolute):
    """By slashes; the functions for files do the same."""
    for prefix in (
        "{{base .p}} {{dir .p}} {{clean .p}} {{ext .p}} {{isAbs .p}}",
        "{{osBase .p}} {{osDir .p}} {{osClean .p}} {{osExt .p}} {{osIsAbs .p}}",
    ):
        assert written(prefix, {"p": path}) == f"{base} {directory} {clean} {extension} {absolute}"
