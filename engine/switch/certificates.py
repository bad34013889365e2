"""A certificate authority for one network's control plane, and the certificates that it signs: for each switch, for the
controller, and for a client that may look and change nothing. All files are PEM; keys are their owner's only."""

import datetime
import ipaddress
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from engine.switch.p4runtime.rights import READER

CONTROLLER: Final = "controller"
"""Name of the client that controls."""
DAYS: Final = 365
"""How long certificates hold (ours); after that they are made anew."""
EARLY: Final = datetime.timedelta(hours=1)
"""They hold from so long ago on, for clocks that are slow (ours)."""


class CertificateError(Exception):
    """One clear line."""


def make_certificates(folder: Path, switches: Sequence[str], days: int = DAYS) -> list[Path]:
    """Make the new `folder` with ca, controller, reader and a certificate for each switch, by the address or name that
    clients connect to; the certificates' files. CertificateError, OSError."""
    for name in switches:
        if not name or "/" in name or name in ("ca", CONTROLLER, READER):
            raise CertificateError(f"'{name}' is no switch's address or name")
    folder.mkdir(mode=0o700, parents=True)
    authority = _Authority(folder, days)
    clients = [authority.sign(name, ExtendedKeyUsageOID.CLIENT_AUTH) for name in (CONTROLLER, READER)]
    return [authority.path, *clients, *(authority.sign(name, ExtendedKeyUsageOID.SERVER_AUTH) for name in switches)]


class _Authority:
    """Its key signs the certificates of one folder, and is kept there for more of them."""

    def __init__(self, folder: Path, days: int) -> None:
        self._folder = folder
        self._from = datetime.datetime.now(datetime.UTC) - EARLY
        self._until = self._from + EARLY + datetime.timedelta(days=days)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("canopy control plane")
        usage = x509.KeyUsage(
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            self._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.path = self._write("ca", certificate, self._key)

    def sign(self, name: str, purpose: x509.ObjectIdentifier) -> Path:
        """A key and a certificate for it, good for one purpose."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            self._builder(_name(name), key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=True)
            .add_extension(x509.SubjectAlternativeName([_alternative(name)]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return self._write(name, certificate, key)

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        """What all certificates have, as RFC 5280 (4.2.1.1, 4.2.1.2) wants it."""
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder(self._name, subject, key, x509.random_serial_number())
            .not_valid_before(self._from)
            .not_valid_after(self._until)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(authority, critical=False)
        )

    def _write(self, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Path:
        plain = serialization.NoEncryption()
        secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        descriptor = os.open(self._folder / f"{name}.key", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(secret)
        path = self._folder / f"{name}.pem"
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return path


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _alternative(name: str) -> x509.GeneralName:
    """What a client compares with where it connected to."""
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
