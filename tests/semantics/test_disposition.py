from __future__ import annotations

import pytest

from tornado_proxy.semantics.disposition import Disposition


@pytest.mark.parametrize(
    ("text", "filename"),
    [
        ('form-data; name="file"', None),
        ('form-data; name="file"; filename=""', ""),
        ('form-data; name="file"; filename="a.txt"', "a.txt"),
        ("form-data; name=file; filename=a.txt", "a.txt"),
        ('form-data; name="file"; filename="日本 é.txt"', "日本 é.txt"),
        ('FORM-DATA;NAME="file";FileName="a.txt"', "a.txt"),
        ('form-data ; name = "file" ; filename = "a.txt" ; ', "a.txt"),
        (r'form-data; name="file"; filename="a\"b\\c.txt"', r'a"b\c.txt'),
        ('form-data; name="file"; filename="a%22b%25.txt"', 'a"b%25.txt'),
        ('form-data; name="file"; filename="a%0D%0Ab"', "a\r\nb"),
        (r'form-data; name="file"; filename="C:\dir\a.txt"', r"C:\dir\a.txt"),
        ('form-data; name="file"; filename="a;b=c.txt"', "a;b=c.txt"),
        ('form-data; name="file"; filename="dir/../a.txt"', "dir/../a.txt"),
        ('form-data; name="file"; filename="euro.txt"; filename*=UTF-8\'\'%e2%82%ac.txt', "€.txt"),
        ("form-data; name=\"file\"; filename*=utf-8'en'a%20b.txt", "a b.txt"),
        ("form-data; name=\"file\"; filename*=iso-8859-1'en'%A3.txt", "£.txt"),
        ('form-data; name="file"; filename="a.txt"; filename*=UTF-8\'\'%ff', "a.txt"),
        ('form-data; name="file"; filename="a.txt"; filename*=koi8-r\'\'%ff', "a.txt"),
        ('form-data; name="file"; filename="a.txt"; filename*=\'\'', "a.txt"),
        ("form-data; name=\"file\"; filename*=UTF-8''", ""),
    ],
)
def test_a_file_name_is_read_as_clients_write_it(text, filename):
    """Browsers' escapes, quoted pairs and `filename*` all lead to the name that the client meant."""
    assert Disposition.from_header(text) == Disposition("form-data", "file", filename)


def test_a_part_may_have_no_name():
    """A disposition is read without parameters too."""
    assert Disposition.from_header("attachment") == Disposition("attachment")


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        '"file"',
        'form-data; name="file',
        'form-data; name="file" filename="a"',
        'form-data; name="a"; name="b"',
        'form-data; name="a"; filename="b"; FILENAME="c"',
        "form-data; name",
        r'form-data; name="a\"',
    ],
)
def test_an_ill_formed_disposition_raises(text):
    """A disposition that can be read in two ways, or in none, is an error."""
    with pytest.raises(ValueError, match="`"):
        Disposition.from_header(text)
