"""Self-signed certificates and their keys, made for tests."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.server import Certificate


class Pair(NamedTuple):
    """A certificate and its key, in PEM."""

    chain: str
    key: str

    @property
    def certificate(self) -> Certificate:
        """The pair as a setting whose secrets were resolved."""
        return Certificate(chain=Secret("test", self.chain), key=Secret("test", self.key))


def renew(folder: Path, new: Pair, name: str = "files") -> None:
    """Replaces the files of a pair one after the other, as tools for certificates do."""
    for suffix, text in (("crt", new.chain), ("key", new.key)):
        (folder / f".{name}.{suffix}.new").write_text(text)
        (folder / f".{name}.{suffix}.new").replace(folder / f"{name}.{suffix}")


@lru_cache
def pair(
    *names: str,
    common_name: str = "test",
    unit: str = "",
    passphrase: bytes | None = None,
    serial: int = 1,
    days: tuple[int, int] = (0, 20),
) -> Pair:
    """A self-signed certificate for host names and email addresses, and its key; `days` from now it is valid."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    if unit:
        subject = x509.Name([*subject, x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit)])
    now = datetime.now(UTC)
    begin, end = (now + timedelta(days=day) for day in days)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), serial, begin, end)
    if names:
        alternative_names = [x509.RFC822Name(name) if "@" in name else x509.DNSName(name) for name in names]
        builder = builder.add_extension(x509.SubjectAlternativeName(alternative_names), critical=False)
    chain = builder.sign(key, SHA256()).public_bytes(Encoding.PEM)
    encryption = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    return Pair(chain.decode(), key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode())
