"""The limits of sign-ins: for what browsers, tokens and providers can make large or slow."""

from __future__ import annotations

LONGEST_RETURN = 2000
"""Characters of the address to return to."""

LONGEST_FOR_BCRYPT = 72
"""Bytes of a password that bcrypt reads."""
MOST_BCRYPT_ROUNDS = 14
"""As a power of two; about a second."""
MOST_ARGON2_KIBIBYTES = 1 << 20
"""Of memory, times the passes over it; about a second."""

CHECKING_THREADS = 2
"""Passwords that are hashed at once: an argon2 hash of the usual cost needs 64 MiB and 50 ms of a processor."""
MOST_CHECKS_WAITING = 32
"""Checks of a client that wait; in all, a connection waits for at most one."""
MOST_CHECKS_REMEMBERED = 4096
"""Passwords that were right, which are not hashed again."""
CHECK_REMEMBERED = 60.0
"""Seconds from the check for which it is."""

NONCE = 12
"""Bytes (NIST SP 800-38D 8.2)."""
COOKIE_CHUNK = 3800
"""Characters in one cookie: browsers keep 4096 bytes with name and attributes (RFC 6265 6.1)."""
MOST_COOKIE_CHUNKS = 5
"""Cookies of one session."""
MOST_COOKIE_TEXTS = 8
"""Texts that the cookies of a request may make, of one number of chunks: each is decrypted, in microseconds."""

LOGIN_SECONDS = 600
"""Seconds that a login may take at the provider. In the manual."""
MOST_LOGINS = 32
"""Logins of a browser that wait, with a cookie of 60 bytes each: proxies limit a header to 8 KiB."""
RENEWABLE_SECONDS = 30 * 24 * 3600
"""Seconds that a session with a refresh token may rest before it is renewed."""
AWAY_SECONDS = 24 * 3600
"""Seconds that a session goes on after its ID token has expired, while the provider cannot be asked."""

PROVIDER_FRESH = 3600.0
"""Seconds for which metadata and keys of a provider are used without asking again."""
PROVIDER_PAUSE = 10.0
"""Seconds between two attempts to ask: clients that send unknown keys must not make us flood the provider."""
PROVIDER_PATIENCE = 2.0
"""Seconds that a request waits for an answer of the provider without which it can go on."""
RENEWAL_REMEMBERED = 60.0
"""Seconds for which a renewal answers other requests that a browser sends with the same cookie."""
SHORTEST_RSA_KEY = 2048
"""Bits of the modulus (RFC 7518 3.3)."""
LONGEST_TOKEN = 16 * 1024
"""Characters of a token. In the manual."""
CLOCK_LEEWAY = 60
"""Seconds between the clocks of provider and service that are tolerated. In the manual."""
END_OF_TIME = 2**53
"""Seconds since 1970; beyond it, a float is not exact."""
