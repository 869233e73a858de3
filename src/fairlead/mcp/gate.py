"""The door of the HTTP server: the path, the token, and an end for every open request."""

from __future__ import annotations

import asyncio
import hmac
import json

import anyio
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairlead.mcp.scopes import Scopes, agent_of

PATH = "/mcp"
CHALLENGE = 'Bearer realm="fairlead"'
BAD_TOKEN = CHALLENGE + ', error="invalid_token"'


class Gate:
    """Lets a request through to the MCP application if it may pass."""

    def __init__(self, app: ASGIApp, *, token: str, scopes: Scopes) -> None:
        self._app = app
        self._token = token.encode()
        self._scopes = scopes
        self._open: set[anyio.CancelScope] = set()
        self._posts = 0
        self._answered = asyncio.Event()
        self._closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        if scope["path"].rstrip("/") != PATH:
            await answer(send, 404, f"There is {PATH} only.")
        elif (challenge := self._challenge(headers)) is not None:
            await answer(send, 401, "A bearer token is required.", challenge)
        elif self._closing:
            await answer(send, 503, "Shutting down.")
        else:
            await self._let_through(scope, headers, receive, send)

    async def refuse(self, patience: float) -> None:
        """Let nobody in any more, and give what was asked a while to be answered."""
        self._closing = True
        with anyio.move_on_after(patience):
            while self._posts:
                self._answered.clear()
                await self._answered.wait()

    def close(self) -> None:
        """Let nobody in any more, and end what is still open."""
        self._closing = True
        for request in list(self._open):
            request.cancel()

    def _challenge(self, headers: Headers) -> str | None:
        credentials = headers.getlist("authorization")
        if len(credentials) != 1:
            return CHALLENGE
        scheme, _, token = credentials[0].partition(" ")
        # Headers are latin-1 on the wire; the bytes are what was sent.
        sent = token.strip().encode("latin-1")
        if scheme.lower() == "bearer" and hmac.compare_digest(sent, self._token):
            return None
        return BAD_TOKEN

    async def _let_through(
        self, scope: Scope, headers: Headers, receive: Receive, send: Send
    ) -> None:
        reply = Reply(send)
        self._posts += scope["method"] == "POST"
        agent = agent_of(headers, sessionless=is_sessionless(headers))
        if agent is not None:
            self._scopes.enter(agent)
        try:
            await self._until_closed(scope, receive, reply)
        finally:
            self._posts -= scope["method"] == "POST"
            self._answered.set()
            if agent is not None:
                deleted = scope["method"] == "DELETE" and reply.status == 200
                self._scopes.leave(agent, gone=deleted)

    async def _until_closed(self, scope: Scope, receive: Receive, reply: Reply) -> None:
        with anyio.CancelScope() as request:
            self._open.add(request)
            try:
                await self._app(scope, receive, reply)
            finally:
                self._open.discard(request)
        if request.cancelled_caught:
            await reply.finish()


class Reply:
    """A response on its way out: knows its status, and can be brought to an end."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._complete = False
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message["type"] == "http.response.body":
            self._complete = not message.get("more_body", False)
        await self._send(message)

    async def finish(self) -> None:
        """Say that it ends here, if that has not been said."""
        if self.status is None:
            await answer(self._send, 503, "Shutting down.")
        elif not self._complete:
            await self._send({"type": "http.response.body", "body": b""})


def is_sessionless(headers: Headers) -> bool:
    """Whether a request speaks the protocol in which every request stands alone."""
    return headers.get("mcp-protocol-version") in MODERN_PROTOCOL_VERSIONS


async def answer(send: Send, status: int, text: str, challenge: str | None = None) -> None:
    """A short JSON answer of the gate itself."""
    body = json.dumps({"error": text}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if challenge is not None:
        headers.append((b"www-authenticate", challenge.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
