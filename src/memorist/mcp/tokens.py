"""Verifies OAuth access tokens (JWT) from an external authorization server. Memorist does not issue any. If an issuer
is configured, a client without a token is told where to obtain one (RFC 9728). A token must be signed by a key that the
issuer publishes, name the issuer, have our URL as its audience, and not have expired.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import anyio.to_thread
import jwt
import msgspec

from ..protocol.keys import ApiKey, Role, Unauthorized
from ..values import JsonMapping, JsonObject

SCOPES: Mapping[str, Role] = {"memory:read": "reader", "memory:write": "writer", "memory:forget": "forget"}
"""The roles that the scopes of a token grant."""
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_DOCUMENTS = ("oauth-authorization-server", "openid-configuration")
_TIMEOUT_SECONDS = 5.0
_WORDS = "a valid token is needed"


class Resource(msgspec.Struct, frozen=True):
    """Holds our identity as an OAuth protected resource."""

    issuer: str
    url: str
    """This is our own URL, which a token must have as its audience: `https://memory.example/mcp`."""
    org: str = "default"
    """This is the org of all token bearers, which a token cannot choose."""

    @property
    def metadata_path(self) -> str:
        """This is the path of our metadata (RFC 9728)."""
        return f"/.well-known/oauth-protected-resource{urlsplit(self.url).path.rstrip('/')}"

    @property
    def metadata_url(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{self.metadata_path}"

    def metadata(self) -> JsonObject:
        """Return the protected resource metadata: issuer and scopes."""
        return {
            "resource": self.url,
            "authorization_servers": [self.issuer],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "Memorist",
        }

    @property
    def challenge(self) -> str:
        """This is the `WWW-Authenticate` header for a client without a valid token."""
        return f'Bearer resource_metadata="{self.metadata_url}", scope="{" ".join(SCOPES)}"'


class Tokens:
    """Verifies tokens from one issuer."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self._keys: jwt.PyJWKClient | None = None

    async def check(self, token: str) -> ApiKey:
        """Return the bearer of a token as an `ApiKey`. Raises Unauthorized, with the same message for every kind of
        problem."""
        try:
            claims = await anyio.to_thread.run_sync(self._claims, token)
        except (jwt.PyJWTError, OSError, ValueError) as wrong:
            raise Unauthorized(_WORDS) from wrong
        user = claims.get("sub")
        roles: tuple[Role, ...] = tuple(role for scope, role in SCOPES.items() if scope in _scopes(claims))
        if not isinstance(user, str) or not user or not roles:
            raise Unauthorized(_WORDS)
        expires = datetime.fromtimestamp(claims["exp"], UTC)
        # A digest of the subject: rates are counted by id and ids are logged, and subjects may share a beginning.
        id = f"oauth-{hashlib.sha256(user.encode()).hexdigest()[:32]}"
        return ApiKey(
            id=id, digest=b"", org=self.resource.org, user=user, actor="assistant", roles=roles,
            created_at=expires, expires_at=expires,
        )  # fmt: skip

    def _claims(self, token: str) -> JsonObject:
        if self._keys is None:
            self._keys = jwt.PyJWKClient(self._keys_url(), timeout=_TIMEOUT_SECONDS)
        key = self._keys.get_signing_key_from_jwt(token)
        claims: JsonObject = jwt.decode(
            token, key.key, algorithms=ALGORITHMS, audience=self.resource.url, issuer=self.resource.issuer,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )  # fmt: skip
        return claims

    def _keys_url(self) -> str:
        """Return the URL of the issuer's signing keys (JWKS), from its metadata document at one of the well-known
        paths.
        """
        parts = urlsplit(self.resource.issuer)
        path = parts.path.rstrip("/")
        base = f"{parts.scheme}://{parts.netloc}"
        places = [f"{base}/.well-known/{name}{path}" for name in _DOCUMENTS]
        places.append(f"{base}{path}/.well-known/openid-configuration")
        for fromkey in dict.fromkeys(places):
            configuration = _fetched(fromkey)
            if configuration.get("issuer") == self.resource.issuer and isinstance(configuration.get("jwks_uri"), str):
                return str(configuration["jwks_uri"])
        raise ValueError("the issuer publishes no keys")


def _fetched(url: str) -> JsonObject:
    try:
        with urlopen(Request(url, headers={"accept": "application/json"}), timeout=_TIMEOUT_SECONDS) as answer:
            document = json.loads(answer.read(1 << 20))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _scopes(claims: JsonMapping) -> set[str]:
    scope = claims.get("scope", claims.get("scp", ""))
    return set(scope.split() if isinstance(scope, str) else map(str, scope))
