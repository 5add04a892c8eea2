"""Workers that are right and oddly set up: what cannot be asked is told as it is, and none is called wrong."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web

from genesisd.probes import PROBES
from genesisd.probes.asking import NoAnswerError
from genesisd.probes.casebook import Casebook
from genesisd.probes.casebooks import general
from genesisd.probes.golden import Golden
from genesisd.probes.http_client import open_session
from genesisd.probes.model import Outcome, Verdict
from genesisd.probes.ports import Abilities, Target
from genesisd.probes.recording import record
from genesisd.probes.spec import CORRECTNESS, CorrectnessProbe, PrefixCacheProbe
from tests.helpers.scripted import Said, Script, engine

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


def refused(message: str) -> Said:
    return Said(status=400, raw=json.dumps({"error": {"message": message, "code": 400}}))


def without_system_role(body: dict[str, Any]) -> Said:
    """As templates of Gemma do."""
    roles = {one["role"] for one in body.get("messages", ())}
    return refused("System role not supported") if "system" in roles else Said("ok")


def without_template(body: dict[str, Any]) -> Said:
    """A model that was never taught to chat."""
    said = "As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template"
    return refused(said) if "messages" in body else Said("ok")


async def recorded(script: Script, book: Casebook | None = None) -> Golden:
    book = book or general()
    async with engine(script) as one, open_session() as session:
        return await record(one.target(casebook=book), book, session, model="m", pin="p", build=None)


async def test_a_case_that_the_template_refuses_is_left_out_of_the_recording() -> None:
    """One question with a system's role must not keep all others from being recorded."""
    assert {case.id for case in general().golden} - set((await recorded(without_system_role)).replies) == {"manners"}


async def test_a_model_that_only_completes_is_recorded_by_what_it_completes() -> None:
    """Chat is refused, the bare prompt is not."""
    assert set((await recorded(without_template)).replies) == {"bare"}


async def test_nothing_is_recorded_where_everything_is_refused() -> None:
    """A recording without answers would hold nothing against anybody."""
    with pytest.raises(NoAnswerError, match="no such thing"):
        await recorded(lambda _: refused("no such thing"))


async def test_the_long_question_needs_no_system_role() -> None:
    """Prefixes are compared on templates without one as well."""
    async with engine(without_system_role) as one, open_session() as session:
        outcome = await PROBES["prefix-cache"](PrefixCacheProbe(), session).ask(one.target(casebook=general()), 0.0)
    assert outcome.verdict is Verdict.SUCCESS


@pytest.mark.parametrize("spec", ASKING[:3], ids=lambda spec: spec.kind)
async def test_a_short_context_is_asked_for_what_fits(spec: CorrectnessProbe) -> None:
    """An engine refuses more room for an answer than it has context: the worker would never be asked at all."""
    async with engine(lambda _: Said("ok")) as one, open_session() as session:
        target = one.target(casebook=general(), abilities=Abilities("hermes", "qwen3", "", True, 512))
        await PROBES[spec.kind](spec, session).ask(target, 0.0)
    assert {body["max_tokens"] for body in one.asked} == {256}
