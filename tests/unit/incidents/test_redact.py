"""Secrets are masked and what users wrote is withheld, whatever stands around them."""

from __future__ import annotations

from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genesisd.incidents import redact as redacting
from genesisd.incidents.redact import LONGEST, MASKED, WITHHELD, Redactor, secret_values, secret_words

CANARY = "c4n4ryValue99"
SECRET_LINES = [
    "vllm serve model --api-key {} --port 1",
    "vllm serve model --api-key first {} --port 1",
    "vllm serve model --api-key={} --port 1",
    "non-default args: {{'model_tag': 'x', 'api_key': ['{}'], 'port': 1}}",
    "args: Namespace(host=None, api_key='{}', port=1)",
    "Authorization: Bearer {}",
    "Authorization: Basic {}",
    "authorization: {}",
    "headers={{'authorization': 'Bearer {}'}}",
    "[(b'host', b'x'), (b'authorization', b'Bearer {}')]",
    "x-api-key: {}",
    'curl -H "X-Api-Key: {}"',
    "HF_TOKEN={}",
    "export AWS_SECRET_ACCESS_KEY={}",
    "password = '{}'",
    '{{"access_token": "{}"}}',
    "postgres://user:{}@host/db",
    "https://{}@host/x",
    "Set-Cookie: {}",
    "GET /v1/models?api_key={} HTTP/1.1",
    'INFO:     127.0.0.1:1 - "GET /v1/models?key={} HTTP/1.1" 200 OK',
    "client_secret: {}",
    "sh -c PGPASSWORD={} exec vllm",
    "HFTOKEN={}",
    "DB_PASS={}",
    '{{"secretAccessKey": "{}"}}',
    '{{"env": "{{\\"hf_token\\": \\"{}\\"}}"}}',
    "postgres://user:{}",
    "postgres://user:first@{}@host/db",
    "https://user:first/{}@host/db",
    "fetched https://host/blob?sv=1&sig={}",
    "s3://bucket/x?X-Amz-Signature={}&a=1",
    "Cookie: lang=en; session={}",
]
TOKENS = [
    "hf_" + "aB3" * 11,
    "sk-proj-" + "aB3" * 8,
    "ghp_" + "aB3" * 12,
    "github_pat_" + "aB3_" * 8,
    "nvapi-" + "aB3" * 8,
    "glpat-" + "aB3" * 8,
    "xoxb-" + "123456789",
    "AKIA" + "ABCDEFGH12345678",
    "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl",
]
PROMPT_LINES = [
    "INFO 11-30 10:00:00 [logger.py:40] Received request cmpl-1: prompt: '{}', params: SamplingParams(n=1)",
    'DEBUG 11-30 10:00:00 [logger.py:50] Request cmpl-1 details: prompt: "{}", prompt_token_ids: [1, 2]',
    "Received request x: params: SamplingParams(n=1, stop=['{}'], max_tokens=16), lora_request: None.",
    "Generated response cmpl-1: output: '{}', output_token_ids: [1, 2], finish_reason: stop",
    "Generated response cmpl-1 (streaming delta): delta: '{}'",
    "SchedulerOutput(scheduled_new_reqs=[NewRequestData(req_id=x,prompt_token_ids=[1, 2],text='{}')])",
    "Dumping scheduler output for model execution: SchedulerOutput({})",
    "  Input should be a valid string [type=string_type, input_value={{'content': '{}'}}, input_type=dict]",
    "fastapi.exceptions.RequestValidationError: [{{'type': 'missing', 'input': {{'q': '{}'}}}}]",
    "{{'role': 'user', 'content': '{}'}}",
    "messages=[{{'role': 'user', 'text': '{}'}}]",
    "ChatCompletionRequest(model='x', user='{}')",
    'Error in extracting tool call from response: arguments: {{"city": "{}"}}',
    "jinja2.exceptions.TemplateError: messages = {}",
    "model_output=<tool_call>{}</tool_call>",
    "prompt={}",
    "(APIServer pid=7) DEBUG 11-30 10:00:00 [llama_tool_parser.py:243] got arguments diff: {}",
    'DEBUG 11-30 10:00:00 [serving.py:804] Received messages request {{"a": "{}"}}',
    "WARNING 11-30 10:00:00 [hy_v4_tool_parser.py:195] No tool named '{}'.",
    "ERROR 11-30 10:00:00 [hermes_tool_parser.py:20] json.decoder.JSONDecodeError: Expecting value: {}",
    "(APIServer pid=7) INFO 11-30 10:00:00 [request_logger.py:65] Received request {}: params: x",
    "ValueError: could not read '" + "x" * 250 + "{}'",
]
KEPT = [
    ("(EngineCore pid=8) INFO 11-30 10:00:00 [loggers.py:1] Engine 000: Avg prompt throughput: 12.0 tokens/s, Avg"
    " generation throughput: 30.5 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.3%"),
    "config: tokenizer='x', skip_tokenizer_init=False, max_num_batched_tokens=2048, dtype=torch.bfloat16, seed=0",
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 72.00 MiB. GPU 0 has a total capacity of 31.33 GiB",
    '(APIServer pid=1)   File "/x/vllm/v1/engine/core.py", line 1134, in run_engine_core',
    '(APIServer pid=7) ERROR 11-30 10:00:00 [hermes_tool_parser.py:20]   File "x/hermes_tool_parser.py", line 3, in f',
    "(APIServer pid=7) ERROR 11-30 10:00:00 [serving.py:1173] vllm.v1.engine.exceptions.EngineDeadError: EngineCore",
    "KeyError: 'invalid tool call parser: nosuch (chose from { hermes,mistral })'",
    "vllm: error: unrecognized arguments: --no-such-flag",
    'INFO:     127.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK',
    "max_tokens=16 prompt_tokens: 5, completion_tokens: 7",
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
    "OSError: [Errno 98] Address already in use",
    "see https://github.com/vllm-project/vllm/issues/1 and http://127.0.0.1:8000/users/me@example.com",
    "tcp://*:5555 http://[::1]:8000 http://localhost:8000",
    "tcp://[fd00::1:2]",
    "bypass=3 detokens: 5 compass=north",
]  # fmt: skip


@pytest.mark.parametrize("line", SECRET_LINES)
@pytest.mark.parametrize("prefix", ["", "(APIServer pid=7) INFO 11-30 10:00:00 [utils.py:1] "])
def test_a_secret_is_masked(line, prefix):
    """Wherever vLLM, Python or a shell writes one; what stands before it stays."""
    text = Redactor().secrets(prefix + line.format(CANARY))
    assert CANARY not in text
    assert MASKED in text
    assert text.startswith(prefix)


@pytest.mark.parametrize("token", TOKENS)
def test_what_looks_like_a_token_is_masked(token):
    """Even where nothing says so."""
    assert Redactor().secrets(f"got <{token}> back") == f"got <{MASKED}> back"


@pytest.mark.parametrize("line", PROMPT_LINES)
def test_what_users_wrote_is_withheld(line):
    """The beginning of the line stays."""
    text = Redactor().text(line.format(CANARY))
    assert CANARY not in text
    assert WITHHELD in text or MASKED in text


@pytest.mark.parametrize("line", KEPT)
def test_what_says_something_of_the_fault_stays(line):
    """A bundle of masks would help nobody."""
    assert Redactor().lines([line]) == [line]


def test_the_lines_that_continue_a_prompt_go_with_it():
    """Until a line of the log's own begins."""
    lines = ["prompt: 'first", "second", "  third'", "(EngineCore pid=1) INFO 11-30 10:00:00 [x.py:1] loaded", "then"]
    assert Redactor().lines(lines) == [f"prompt: {WITHHELD}", lines[3], "then"]


@given(st.text(min_size=4), st.text(), st.text())
def test_a_known_secret_is_never_there(secret, before, after):
    """As it stands, whatever surrounds it."""
    text = Redactor([secret]).secrets(before + secret + after)
    assert secret not in text.replace(MASKED, "") or secret in MASKED


@given(st.lists(st.sampled_from([*SECRET_LINES, *PROMPT_LINES]), min_size=1), st.randoms())
def test_no_mixture_of_lines_lets_one_through(lines, rng):
    """In any order, cut anywhere; but a login without a password is a host like any other once it is cut."""
    filled = [line.format(CANARY) for line in lines]
    cut = [
        line[: rng.randrange(len(line) + 1)] if rng.random() < 0.3 and f"//{CANARY}" not in line else line
        for line in filled
    ]
    assert not any(CANARY in line for line in Redactor().lines(cut))


@given(st.lists(st.text(max_size=300), max_size=20))
def test_anything_can_be_redacted(lines):
    """It never raises and never adds lines, and doing it twice changes nothing more."""
    redact = Redactor(["abcd"])
    once = redact.lines(lines)
    assert len(once) <= len(lines)
    assert len(redact.lines(once)) <= len(once)


def test_a_line_that_is_too_long_is_cut():
    """Looking at all of it would take longer than the fault may wait."""
    assert len(Redactor().lines(["a-" * 100_000])[0]) == LONGEST


def test_a_run_of_capitals_is_looked_at_once():
    """And not once a letter, for minutes: an engine that answers garbage says such things."""
    garbage = "A" * 500_000
    assert Redactor().secrets(garbage) == garbage


@pytest.mark.parametrize("word", ["TOKEN", "PASSPHRASE", "ENCRYPTIONSECRET"])
def test_the_longest_word_is_found_behind_other_capitals(word):
    """As people write the names of variables."""
    assert CANARY not in Redactor().secrets(f"HF{word}={CANARY}")


def test_who_masks_while_a_secret_is_being_learnt_masks_it_too(monkeypatch):
    """A bundle is written by a thread while the daemon goes on to mask what it keeps."""
    said: list[str] = []
    redact = Redactor(live=lambda: [CANARY])
    learn = redacting.forms

    def forms(value):
        monkeypatch.setattr(redacting, "forms", learn)
        other = Thread(target=lambda: said.append(redact.secrets(f"a {CANARY}")))
        other.start()
        other.join()
        return learn(value)

    monkeypatch.setattr(redacting, "forms", forms)
    assert redact.secrets(CANARY) == MASKED
    assert said == [f"a {MASKED}"]


def test_a_spec_is_masked_by_name_and_by_value():
    """Numbers and switches stay: they are no secrets."""
    redact = Redactor(["known-value"])
    spec = {
        "args": ["--api-key", CANARY, "other", "--max-num-batched-tokens", "5"],
        "env": {"HF_TOKEN": CANARY, "OMP_NUM_THREADS": "1", "X": "a known-value"},
        "probes": {"headers": {"Authorization": CANARY}, "max_tokens": 5, "keep_alive": [{"api_key": [CANARY]}]},
        "tokenizer": "x",
        "n": None,
    }
    assert redact.tree(spec) == {
        "args": ["--api-key", MASKED, MASKED, "--max-num-batched-tokens", "5"],
        "env": {"HF_TOKEN": MASKED, "OMP_NUM_THREADS": "1", "X": f"a {MASKED}"},
        "probes": {"headers": {"Authorization": MASKED}, "max_tokens": 5, "keep_alive": [{"api_key": MASKED}]},
        "tokenizer": "x",
        "n": None,
    }


def test_secret_values_are_found_in_environments_and_command_lines():
    """Short ones are left alone: replacing them would garble every text."""
    assert secret_values({"A_KEY": "value", "B_KEY": "x", "PATH": "/bin", "TOKENIZER": "path"}) == {"value"}
    argv = ["serve", "--api-key", "first", "second", "--port", "1000", "--hf-token=third", "--api-key=", "x"]
    assert secret_words(argv) == {"first", "second", "third"}


def test_numbers_of_the_engine_are_no_secrets():
    """Whose names speak of tokens: as known secrets they would be masked in every line."""
    flags = ["--long-prefill-token-threshold", "2048", "--dbo-prefill-token-threshold=1024", "--spec-tokens", "4"]
    environ = {
        "VLLM_MULTI_STREAM_GEMM_TOKEN_THRESHOLD": "1024", "VLLM_MAX_TOKENS_PER_EXPERT_FP4_MOE": "163840",
        "VLLM_USE_FASTOKENS": "True",
    }  # fmt: skip
    assert (secret_words(flags), secret_values(environ)) == (set(), set())
    assert Redactor().argv(flags) == flags


def test_secrets_within_a_setting_are_found():
    """Whose own name says nothing: a login in an address, JSON, a shell's command. What is a common word stays."""
    environ = {
        "DATABASE_URL": "postgres://bob:pass@word@db:5432/x,redis://:sl/ash@r",
        "SETTINGS": '{"retries": "3", "api_key": "in-json", "auth": "none"}',
        "MAXIM_API_TOKEN": "plain-1",
        "TOKENIZER_API_KEY": "plain-2",
        "DB_PASS": "plain-3",
        "MAX_NUM_BATCHED_TOKENS": "8192",
        "PROXY": "http://proxy:3128/",
    }
    assert secret_values(environ) == {"pass@word", "sl/ash", "in-json", "plain-1", "plain-2", "plain-3"}
    argv = ["sh", "-c", "PGPASSWORD=in-shell exec vllm serve m --api-key one-key other-key --port 1000"]
    assert secret_words(argv) == {"in-shell", "one-key", "other-key"}


@pytest.mark.parametrize(
    "shown", ["k%C3%A9y+one%2Ftwo%3D", "k%C3%A9y%20one%2Ftwo%3D", r"k\u00e9y one/two=", "a8OpeSBvbmUvdHdvPQ"]
)
def test_a_known_secret_is_masked_in_other_forms(shown):
    """In the query of an address, in JSON, in base64 (with what fills it up, or without)."""
    redact = Redactor(["kéy one/two="])
    assert redact.secrets(f"got <{shown}> back") == f"got <{MASKED}> back"


def test_a_secret_of_several_lines_is_masked_line_by_line():
    """As a log shows it, and as JSON does."""
    key = '{\n  "type": "service",\n  "code": "abcd-efgh-ijkl"\n}\n'
    redact = Redactor([key])
    shown = [*redact.lines(f"using {key}".splitlines()), redact.secrets(repr(key)), redact.page(key)]
    assert not any("abcd-efgh" in one for one in shown)


def test_new_secrets_are_asked_for_each_time():
    """A reload brings new ones."""
    known: list[str] = []
    redact = Redactor(live=lambda: known)
    assert redact.secrets("say newcomer") == "say newcomer"
    known.append("newcomer")
    assert redact.secrets("say newcomer") == f"say {MASKED}"
