"""Workers that are right and oddly set up: what cannot be asked is told as it is, and none is called wrong."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web

from genesisd.probes import PROBES
from genesisd.probes.casebooks import general
from genesisd.probes.http_client import open_session
from genesisd.probes.model import Outcome, Verdict
from genesisd.probes.ports import Abilities, Target
from genesisd.probes.spec import CORRECTNESS, CorrectnessProbe

pytestmark = pytest.mark.process

ASKING = [
    one
    for one in CORRECTNESS
    if one.kind in {"tool-calls", "structured-output", "reasoning", "keep-alive", "degeneration"}
]
Answer = Callable[[web.Request], web.Response]


@contextlib.asynccontextmanager
async def server(answer: Answer) -> AsyncIterator[int]:
    """Every request gets what ``answer`` says."""

    async def handle(request: web.Request) -> web.StreamResponse:
        await request.read()
        return answer(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def asked(spec: CorrectnessProbe, answer: Answer, **more: object) -> Outcome:
    known = {"worker": "w", "incarnation": 1, "leader": 1, "host": "127.0.0.1", "members": lambda: ()}
    async with server(answer) as port, open_session() as session:
        probe = PROBES[spec.kind](spec, session)
        try:
            return await probe.ask(Target(**(known | {"port": port, "casebook": general()} | more)), 0.0)  # type: ignore[arg-type]
        finally:
            await probe.close()


def refusing(status: int, message: str) -> Answer:
    return lambda _: web.json_response({"error": {"message": message, "code": status}}, status=status)


@pytest.mark.parametrize("spec", ASKING, ids=lambda spec: spec.kind)
async def test_a_name_that_is_not_served_is_unknown(spec: CorrectnessProbe) -> None:
    """A worker that serves its model under another name lacks nothing: nobody knows how it answers, and that is told."""
    outcome = await asked(spec, refusing(404, "The model `m` does not exist."), model="m")
    assert outcome.verdict is Verdict.UNKNOWN
    assert "The model `m` does not exist" in outcome.summary


@pytest.mark.parametrize("spec", ASKING, ids=lambda spec: spec.kind)
async def test_a_key_that_is_wanted_for_the_list_of_models_is_named(spec: CorrectnessProbe) -> None:
    """Where even /v1/models wants a key, that is what is said, and not that there is no model."""
    outcome = await asked(spec, refusing(401, "Unauthorized"))
    assert outcome.verdict is Verdict.UNKNOWN
    assert "give genesisd the API key (/v1/models answered 401)" in outcome.summary


@pytest.mark.parametrize("spec", ASKING, ids=lambda spec: spec.kind)
async def test_a_server_without_the_endpoint_is_skipped(spec: CorrectnessProbe) -> None:
    """A model that does not generate has no such endpoint, and cannot be asked this."""
    outcome = await asked(spec, refusing(404, "Not Found"), model="m", abilities=Abilities())
    assert outcome.verdict is Verdict.SKIPPED
