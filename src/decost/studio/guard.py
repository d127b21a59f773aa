"""Who is let in: names and origins of requests, tokens, sizes; and what every answer forbids."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException

from decost.studio.settings import Settings

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

CLIENT, SESSION = "decost-client", "decost-session"
"""Cookies: which browser it is, and that it has shown a token."""

YEAR = 365 * 86400

PATIENCE = 30.0
"""Seconds to wait for the head of a request, and for more of its body."""

MOST_PATIENCE = 300.0
"""Seconds to wait for all of a body, however it comes."""

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""Of every answer."""

_OPEN = re.compile(r"/|/web/.*|/session|/health")
"""Paths that need no token: the page itself, and what lets its user in."""

_ID = re.compile(r"[0-9a-f]{32}")


class Guard:
    """Lets through what is for this service, from its own page or from no page at all.

    Parameters
    ----------
    app
        The service.
    settings
        Its names, tokens and sizes.
    """

    def __init__(self, app: App, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._names = settings.names
        self._sessions = {session_of(token): name for token, name in settings.tokens.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look at a request, and pass it on or refuse it."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":  # there are no web sockets
            return await send({"type": "websocket.close", "code": 1008})

        async def answer(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                extra = [(n.encode(), v.encode()) for n, v in HEADERS.items()]
                extra += [(b"cache-control", b"no-store")] * (b"cache-control" not in own)
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        headers = {
            name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]
        }
        refused = self._refusal(scope, headers)
        if refused is not None:
            return await _refuse(answer, *refused)
        return await self._app(scope, self._limited(receive), answer)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        """Say with which code and words a request is refused; else note whose it is."""
        hosts = [text for name, text in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or _name(headers["host"]) not in self._names:
            return 421, "Host: is not a name of this service"
        origin = headers.get("origin")
        if origin is not None and not self._own(origin, headers["host"]):
            return 403, "Origin: requests of other pages are refused"
        site = headers.get("sec-fetch-site", "none")
        arrives = headers.get("sec-fetch-mode") == "navigate" and scope["method"] == "GET"
        if site not in ("none", "same-origin") and not arrives:
            return 403, "Sec-Fetch-Site: requests of other pages are refused"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self._settings.body:
            return 413, f"request: is larger than {self._settings.body} bytes"
        has_body = length != "0" or "transfer-encoding" in headers
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if has_body and kind != "application/json":
            return 415, "Content-Type: must be application/json"
        client = self._client(scope, headers)
        if client is None and not _OPEN.fullmatch(scope["path"]):
            return 401, "Authorization: needs a token"
        scope.setdefault("state", {})["client"] = client
        return None

    def _own(self, origin: str, host: str) -> bool:
        """Whether an origin is that of our page: the host that the request is for."""
        try:
            return urlsplit(origin).netloc.lower() == host.lower()
        except ValueError:
            return False

    def _client(self, scope: Scope, headers: dict[str, str]) -> str | None:
        """Tell whose request it is: by the token, else by a cookie, else by the address."""
        cookies = cookies_of(headers.get("cookie", ""))
        if self._settings.tokens:
            scheme, _, token = headers.get("authorization", "").partition(" ")
            given = session_of(token.strip()) if scheme.lower() == "bearer" else None
            for shown in (given, cookies.get(SESSION)):
                for session, name in self._sessions.items():
                    if shown is not None and hmac.compare_digest(session.encode(), shown.encode()):
                        return name
            return None
        cookie = cookies.get(CLIENT, "")
        if _ID.fullmatch(cookie):
            return cookie
        return f"at {(scope.get('client') or ('nowhere',))[0]}"

    def _limited(self, receive: Receive) -> Receive:
        """Count the bytes of a request while they come, and do not wait for them for ever."""
        size, whole = 0, False
        end = time.monotonic() + MOST_PATIENCE

        async def counted() -> MutableMapping[str, Any]:
            nonlocal size, whole
            patience = min(PATIENCE, end - time.monotonic())
            try:
                message = await asyncio.wait_for(receive(), None if whole else patience)
            except TimeoutError:
                raise HTTPException(408, "request: came too slowly") from None
            whole = not message.get("more_body", False)
            size += len(message.get("body", b""))
            if size > self._settings.body:
                raise HTTPException(413, f"request: is larger than {self._settings.body} bytes")
            return message

        return counted


def session_of(token: str) -> str:
    """Give the secret that a browser keeps in the place of a token."""
    return hmac.new(token.encode(), b"decost session", hashlib.sha256).hexdigest()


def new_client() -> str:
    """Make the name of a browser."""
    return secrets.token_hex(16)


def cookies_of(text: str) -> dict[str, str]:
    """Read the cookies of a request; ours have no quotes, which Python is slow to take away."""
    pairs = (part.partition("=") for part in text.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _name(host: str) -> str:
    """Take the port off."""
    found = re.fullmatch(r"\[([0-9a-fA-F:.]+)\](?::\d+)?|([^:\[\]]*)(?::\d+)?", host)
    return "" if found is None else (found[1] or found[2] or "").lower().removesuffix(".")


async def _refuse(send: Send, code: int, words: str) -> None:
    body = json.dumps({"error": words}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if code == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": code, "headers": headers})
    await send({"type": "http.response.body", "body": body})
