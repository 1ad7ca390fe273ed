import hashlib

import pytest
from go_programs import written


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "sha512"])
def test_checksums_are_hexadecimal(algorithm):
    """Of the bytes of the text."""
    assert written(f'{{{{ {algorithm}sum "é" }}}}') == hashlib.new(algorithm, "é".encode()).hexdigest()


def test_adler32_is_a_number():
    """In digits."""
    assert written('{{ adler32sum "hello" }}') == "103547413"
