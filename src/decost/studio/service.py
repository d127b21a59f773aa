"""The service: REST for plans, and the page that uses it."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from base64 import b64decode
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from decost import __version__
from decost.files.json import Schema
from decost.files.limits import FormatError
from decost.method.options import MethodError
from decost.planner.door import DEFAULT_METHOD, list_methods
from decost.planner.orders import OrderError
from decost.problem.instance import InstanceError
from decost.studio import messages
from decost.studio.description import describe, refuses, takes
from decost.studio.desk import Desk, UnknownError, list_examples, name_of, read_example
from decost.studio.guard import (
    CLIENT,
    SESSION,
    YEAR,
    App,
    Guard,
    cookies_of,
    new_client,
    session_of,
)
from decost.studio.messages import Accepted, read_message
from decost.studio.office import BusyError, Office
from decost.studio.settings import Settings
from decost.studio.store import StoreError
from decost.studio.tasks import method_options, start_of

LOGGER = logging.getLogger("decost")

LARGE = 2**16
"""Bytes of a request from which on few are worked on at a time: its instance may be large."""

MOST_LISTENING = 100
"""Connections of a client on which it listens to plans; every piece of news goes to all of them."""

KEEP_ALIVE = 15.0
"""Seconds after which something is sent to who listens to a plan."""

_TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "html": "text/html"}
_PARTS = {
    path.name: path
    for package in ("decost.show", "decost.studio")
    for path in (files(package) / "web").iterdir()
    if path.name.rpartition(".")[2] in _TYPES
}
"""Parts of the page by their names; its own come before those that it has from reports."""

AnyMessage = TypeVar("AnyMessage", bound=Schema)
Answer = TypeVar("Answer")
_QUESTION = refuses(409, 422, 429)
_FOUND = refuses(404)


def make_service(settings: Settings) -> App:
    """Make the service, ready for any ASGI server.

    Parameters
    ----------
    settings
        How it runs.
    """
    settings.require_safe()
    desk = Desk()
    app = _Service(settings, desk)
    return Guard(app.api, settings)


class _Service:
    """The routes, and what they share."""

    def __init__(self, settings: Settings, desk: Desk) -> None:
        self.settings = settings
        self.desk = desk
        self.office = Office(settings)
        self.listening: Counter[str] = Counter()
        self.api = FastAPI(
            title="decost",
            version=__version__,
            description="Plan visits when how long you stay decides what you earn.",
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
            lifespan=self._life,
        )
        self.api.openapi = partial(describe, self.api)  # type: ignore[method-assign]
        self._plans()
        self._one_plan()
        self._questions()
        self._files()
        self._pages()
        self._complaints()

    @asynccontextmanager
    async def _life(self, app: FastAPI) -> AsyncIterator[None]:
        self._few = CapacityLimiter(2)
        await self.office.start()
        warming = asyncio.create_task(run_in_threadpool(self.desk.rehearse))
        yield
        await self.office.close()
        await asyncio.gather(warming, return_exceptions=True)

    async def _aside(
        self, request: Request, function: Callable[..., Answer], *given: Any
    ) -> Answer:
        """Do something for a request in a thread."""
        limiter = self._few if len(await request.body()) > LARGE else None
        return await to_thread.run_sync(partial(function, *given), limiter=limiter)

    async def _read(self, schema: type[AnyMessage], request: Request) -> AnyMessage:
        return await self._aside(request, read_message, schema, await request.body())

    async def _answer(
        self, request: Request, schema: type[AnyMessage], answer: Callable[[AnyMessage], Any]
    ) -> JSONResponse:
        """Answer a question in a thread."""

        def text() -> bytes:
            return json.dumps(answer(asked), allow_nan=False).encode()

        asked = await self._read(schema, request)
        return Response(await self._aside(request, text), media_type="application/json")  # type: ignore[return-value]

    def _plan_request(self, asked: messages.PlanRequest) -> dict[str, Any]:
        """Check what is asked for, so that a job does not fail for what could be told at once."""
        known = self.desk.instances.take(asked.instance)
        options = method_options(asked.options, self.settings.time_limit, self.settings.memory)
        if asked.locked and asked.start is None:
            raise FormatError("request: locked: needs the plan as start")
        if asked.start is not None:
            start_of(known.instance, asked.start)
        return {
            "instance": known.data,
            "options": options,
            "start": asked.start,
            "locked": asked.locked,
        }

    def _replan_request(self, asked: messages.ReplanRequest) -> dict[str, Any]:
        data = self.desk.instances.take(asked.instance).data
        options = method_options(asked.options, self.settings.time_limit, self.settings.memory)
        return asked.model_dump() | {"instance": data, "options": options}

    async def _accept(
        self,
        request: Request,
        kind: str,
        schema: type[AnyMessage],
        check: Callable[[AnyMessage], Any],
    ) -> Accepted:
        asked = await self._read(schema, request)
        wanted = await self._aside(request, check, asked)
        name = name_of(wanted["instance"])
        return Accepted(id=await self.office.add(client_of(request), kind, name, wanted))

    def _plans(self) -> None:
        api, office = self.api, self.office

        @api.post(
            "/plans",
            status_code=202,
            response_model=Accepted,
            responses=_QUESTION,
            openapi_extra=takes(messages.PlanRequest),
            summary="Ask for a plan",
        )
        async def ask(request: Request) -> Accepted:
            return await self._accept(request, "solve", messages.PlanRequest, self._plan_request)

        @api.post(
            "/replan",
            status_code=202,
            response_model=Accepted,
            responses=_QUESTION,
            openapi_extra=takes(messages.ReplanRequest),
            summary="Ask for the rest of a plan anew",
        )
        async def replan(request: Request) -> Accepted:
            return await self._accept(
                request, "replan", messages.ReplanRequest, self._replan_request
            )

        @api.get("/plans", responses=refuses(), summary="List your latest plans")
        async def listed(request: Request) -> list[dict[str, Any]]:
            return [
                {
                    "id": row.id,
                    "name": row.name,
                    "state": row.state,
                    "created": row.created,
                    "profit": (row.answer or {}).get("result", {}).get("profit"),
                }
                for row in await office.of_client(client_of(request))
            ]

    def _one_plan(self) -> None:
        api, office = self.api, self.office

        @api.get(
            "/plans/{id}",
            responses=_FOUND | {202: {"description": "not ready yet: how far it is"}},
            summary="Get a plan, as `decost solve --json` prints it",
        )
        async def get(id: str) -> JSONResponse:  # noqa: A002
            told = await office.look(id)
            if told is None:
                raise HTTPException(404, "plan: there is none of this id")
            code = 202 if told["status"] in ("queued", "running") else 200
            return JSONResponse(told, code)

        @api.get("/plans/{id}/instance", responses=_FOUND, summary="Get the instance of a plan")
        async def instance(id: str) -> JSONResponse:  # noqa: A002
            found = await office.instance(id)
            if found is None:
                raise HTTPException(404, "plan: there is none of this id")
            return JSONResponse(found)

        @api.get(
            "/plans/{id}/events",
            responses=refuses(404, 429) | {200: {"content": {"text/event-stream": {}}}},
            response_class=Response,
            summary="Hear of a plan as it is made (server-sent events)",
        )
        async def events(request: Request, id: str) -> StreamingResponse:  # noqa: A002
            if await office.look(id) is None:
                raise HTTPException(404, "plan: there is none of this id")
            if self.listening[client_of(request)] >= MOST_LISTENING:
                raise HTTPException(429, "too many connections listen to plans already")
            headers = {"x-accel-buffering": "no"}
            stream = self._listening(client_of(request), _event_stream(office.watch(id)))
            return StreamingResponse(stream, media_type="text/event-stream", headers=headers)

        @api.post(
            "/plans/{id}/stop",
            status_code=202,
            response_model=Accepted,
            responses=_FOUND,
            summary="End early, and keep the plan",
        )
        async def stop(id: str) -> Accepted:  # noqa: A002
            if not await office.stop(id):
                raise HTTPException(404, "plan: there is none of this id")
            return Accepted(id=id)

        @api.delete("/plans/{id}", status_code=204, responses=_FOUND, summary="Cancel and forget")
        async def delete(id: str) -> None:  # noqa: A002
            if not await office.delete(id):
                raise HTTPException(404, "plan: there is none of this id")

        @api.get("/queue", responses=refuses(), summary="How many plans wait and are being made")
        async def queue() -> dict[str, int]:
            return office.queue

    async def _listening(self, client: str, stream: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
        """Pass events on, and count who listens."""
        self.listening[client] += 1
        try:
            async with aclosing(stream):
                async for event in stream:
                    yield event
        finally:
            self.listening[client] -= 1
            self.listening += Counter()  # forgets those that are at nothing

    def _questions(self) -> None:
        api, desk = self.api, self.desk

        @api.post(
            "/stays",
            responses=_QUESTION,
            openapi_extra=takes(messages.StaysRequest),
            summary="The best times for an order of stops, as `decost stays --json` prints them",
        )
        async def stays(request: Request) -> JSONResponse:
            return await self._answer(request, messages.StaysRequest, desk.stays)

        @api.post(
            "/check",
            responses=_QUESTION,
            openapi_extra=takes(messages.CheckRequest),
            summary="Whether a plan is feasible, and what it breaks",
        )
        async def check(request: Request) -> JSONResponse:
            return await self._answer(request, messages.CheckRequest, desk.check)

        @api.post(
            "/scenes",
            responses=_QUESTION,
            openapi_extra=takes(messages.SceneRequest),
            summary="What the page draws of an order of stops, or of a plan",
        )
        async def scene(request: Request) -> JSONResponse:
            return await self._answer(request, messages.SceneRequest, desk.scene)

        @api.post(
            "/explain",
            responses=_QUESTION,
            openapi_extra=takes(messages.ExplainRequest),
            summary="Why stops are left out, and what visits would cost",
        )
        async def explain(request: Request) -> JSONResponse:
            asked = await self._read(messages.ExplainRequest, request)
            return JSONResponse((await self._worked(request, "explain", asked))["result"])

        @api.post(
            "/exports",
            responses=_QUESTION | {200: {"content": {"application/octet-stream": {}}}},
            response_class=Response,
            openapi_extra=takes(messages.ExportRequest),
            summary="A plan as a file: table, JSON, report, calendar, map, picture",
        )
        async def export(request: Request) -> Response:
            asked = await self._read(messages.ExportRequest, request)
            answer = await self._worked(request, "export", asked)
            return Response(
                b64decode(answer["content"]),
                media_type="application/octet-stream",
                headers={"content-disposition": f'attachment; filename="plan.{asked.format}"'},
            )

    async def _worked(self, request: Request, kind: str, asked: Any) -> dict[str, Any]:
        """Let a worker answer; end that if the client goes."""
        known = await self._aside(request, self.desk.instances.take, asked.instance)
        wanted = asked.model_dump() | {"instance": known.data}
        answering = asyncio.create_task(self.office.ask(client_of(request), kind, wanted))
        leaving = asyncio.create_task(_left(request))
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if not answering.done():
            answering.cancel()
            raise HTTPException(400, "the client has gone")
        answer = answering.result()
        if "error" in answer:
            raise HTTPException(422, answer["error"])
        return answer

    def _files(self) -> None:
        api, desk = self.api, self.desk

        @api.post(
            "/instances",
            responses=_QUESTION,
            openapi_extra=takes(messages.FilesRequest),
            summary="Read files, as the command line does, and give the instance as JSON",
        )
        async def read(request: Request) -> Response:
            def text() -> tuple[bytes, str]:
                instance, notes = desk.read(asked)
                return json.dumps(instance, allow_nan=False).encode(), json.dumps(notes)

            asked = await self._read(messages.FilesRequest, request)
            content, notes = await self._aside(request, text)
            headers = {"decost-notes": notes}  # which are no part of the instance
            return Response(content, media_type="application/json", headers=headers)

        @api.get("/examples", responses=refuses(), summary="Names of examples")
        async def examples() -> list[str]:
            return list_examples()

        @api.get("/examples/{name}", responses=_FOUND, summary="An example, as JSON")
        async def example(name: str) -> JSONResponse:
            found = await run_in_threadpool(read_example, name)
            if found is None:
                raise HTTPException(404, "example: there is none of this name")
            return JSONResponse(found)

        @api.get("/methods", responses=refuses(), summary="Methods, and what each is")
        async def methods() -> dict[str, str]:
            known = await run_in_threadpool(list_methods)
            first = sorted(known, key=lambda one: one.name != DEFAULT_METHOD)
            return {one.name: one.description for one in first}

    def _pages(self) -> None:
        api = self.api

        @api.get("/", include_in_schema=False)
        async def page(request: Request) -> Response:
            answer = _part("index.html")
            assert answer is not None
            if CLIENT not in cookies_of(request.headers.get("cookie", "")):
                _set_cookie(answer, request, CLIENT, new_client())
            return answer

        @api.get("/web/{name}", include_in_schema=False)
        async def part(name: str) -> Response:
            found = _part(name)
            if found is None:
                raise HTTPException(404, "there is no such part of the page")
            return found

        @api.post(
            "/session",
            status_code=204,
            responses=refuses(422),
            openapi_extra=takes(messages.TokenRequest),
            summary="Show a token, for the page",
        )
        async def session(request: Request) -> Response:
            asked = await self._read(messages.TokenRequest, request)
            shown = asked.token.encode()
            known = [hmac.compare_digest(one.encode(), shown) for one in self.settings.tokens]
            if not any(known):
                raise HTTPException(403, "token: is not known")
            answer = Response(status_code=204)
            _set_cookie(answer, request, SESSION, session_of(asked.token))
            return answer

        @api.get("/health", responses=refuses(), summary="That it is there")
        async def health() -> dict[str, str]:
            return {"status": "ok", "version": __version__}

    def _complaints(self) -> None:
        def complain(code: int, words: str, **headers: str) -> JSONResponse:
            return JSONResponse({"error": words}, code, headers=headers)

        async def wrong(request: Request, error: Exception) -> JSONResponse:
            return complain(422, str(error)[:4000])

        async def unknown(request: Request, error: Exception) -> JSONResponse:
            return complain(409, str(error))

        async def busy(request: Request, error: Exception) -> JSONResponse:
            return complain(
                429, "too many plans wait already, try again later", **{"retry-after": "10"}
            )

        async def http(request: Request, error: Exception) -> JSONResponse:
            assert isinstance(error, HTTPException)
            return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)

        async def refused(request: Request, error: Exception) -> JSONResponse:
            return complain(422, "request: is not understood")

        async def unkept(request: Request, error: Exception) -> JSONResponse:
            return complain(
                503,
                "the plans cannot be read or kept now, try again later",
                **{"retry-after": "30"},
            )

        async def left(request: Request, error: Exception) -> JSONResponse:
            return complain(400, "the client has gone")  # which nobody reads

        async def internal(request: Request, error: Exception) -> JSONResponse:
            return complain(500, "something went wrong here")

        for kind in (FormatError, InstanceError, MethodError, OrderError):
            self.api.exception_handler(kind)(wrong)
        self.api.exception_handler(UnknownError)(unknown)
        self.api.exception_handler(BusyError)(busy)
        self.api.exception_handler(StoreError)(unkept)
        self.api.exception_handler(ClientDisconnect)(left)
        self.api.exception_handler(HTTPException)(http)
        self.api.exception_handler(RequestValidationError)(refused)
        self.api.exception_handler(Exception)(internal)


def client_of(request: Request) -> str:
    """Tell whose request it is, as the guard has found out."""
    return str(request.state.client)


async def _left(request: Request) -> None:
    """Wait until nobody waits for the answer."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _event_stream(watched: AsyncIterator[dict[str, Any]]) -> AsyncGenerator[bytes]:
    """Write what is known of a plan as events, and something now and then in between."""
    following = asyncio.ensure_future(anext(watched, None))
    try:
        while True:
            await asyncio.wait((following,), timeout=KEEP_ALIVE)
            if not following.done():
                yield b": still there\n\n"
                continue
            told = following.result()
            if told is None:
                return
            status = told["status"]
            event = status if status in ("queued", "running", "failed", "gone") else "done"
            yield f"event: {event}\ndata: {json.dumps(told)}\n\n".encode()
            following = asyncio.ensure_future(anext(watched, None))
    finally:
        following.cancel()


def _part(name: str) -> Response | None:
    """Give a part of the page."""
    path = _PARTS.get(name)
    if path is None:
        return None
    headers = {"cache-control": "no-cache"}
    kind = _TYPES[name.rpartition(".")[2]]
    return Response(path.read_bytes(), media_type=kind, headers=headers)


def _set_cookie(answer: Response, request: Request, name: str, value: str) -> None:
    secure = request.url.scheme == "https"
    answer.set_cookie(
        name, value, max_age=YEAR, httponly=True, samesite="strict", secure=secure, path="/"
    )
