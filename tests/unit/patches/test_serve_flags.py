"""Flags of the engine are understood in every form that people write them in."""

import pytest

from genesisd.patches.serve_flags import ServeFlags, read


@pytest.mark.parametrize(
    ("args", "name", "value"),
    [
        (["--kv-cache-dtype", "fp8"], "--kv-cache-dtype", "fp8"),
        (["--kv-cache-dtype=fp8"], "--kv-cache-dtype", "fp8"),
        (["--kv_cache_dtype", "fp8"], "--kv-cache-dtype", "fp8"),
        (["--kv_cache_dtype=fp8_e5m2"], "--kv-cache-dtype", "fp8_e5m2"),
        (["-q", "awq"], "--quantization", "awq"),
        (["-q=awq"], "--quantization", "awq"),
        (["-tp", "2", "--x"], "--tensor-parallel-size", "2"),
        (["--seed", "-1"], "--seed", "-1"),
        (["--a=1", "--a", "2"], "--a", "2"),
        (["--a=x=y"], "--a", "x=y"),
        (["--a"], "--a", None),
        (["--ab", "1"], "--a", None),
        ([], "--a", None),
        (["x", "--a", "1"], "--a", "1"),
        (["--a", ""], "--a", ""),
        (["--a", "-"], "--a", "-"),
        (["-O0"], "--optimization-level", "0"),
        (["-O=1"], "--optimization-level", "1"),
        (["-O", "3"], "--optimization-level", "3"),
        (["-O1", "--optimization_level=2"], "--optimization-level", "2"),
    ],
)
def test_a_value_is_found(args, name, value):
    """With a blank or an equals sign, dashes or underscores, long or short; the last one counts."""
    assert ServeFlags(args).value(name) == value


@pytest.mark.parametrize(
    ("args", "on"),
    [
        (["--enable-prefix-caching"], True),
        (["--enable_prefix_caching"], True),
        (["--no-enable-prefix-caching"], False),
        (["--no_enable_prefix_caching"], False),
        (["--enable-prefix-caching", "--no-enable-prefix-caching"], False),
        (["--no-enable-prefix-caching", "--enable-prefix-caching"], True),
        (["--enable-prefix-caching", "False"], False),
        (["--enable-prefix-caching", "False", "x"], False),
        (["--enable-prefix-caching=true"], True),
        (["--enable-prefix-caching=false"], False),
        ([], None),
    ],
)
def test_a_switch_is_on_off_or_not_given(args, on):
    """The engine's default is not guessed."""
    assert ServeFlags(args).is_on("--enable-prefix-caching") is on


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("8", 8),
        ("32k", 32_000),
        ("32K", 32_768),
        ("1.5k", 1500),
        ("auto", None),
        ("-1", None),
        ("", None),
        ("8x", None),
    ],
)
def test_numbers_are_read_as_the_engine_reads_them(written, number):
    """A small letter counts in thousands, a big one in 1024s."""
    assert ServeFlags(["--max-model-len", written]).number("--max-model-len") == number


@pytest.mark.parametrize(
    ("args", "content"),
    [
        (["--speculative-config", '{"method": "mtp"}'], {"method": "mtp"}),
        (['--speculative-config={"method": "mtp"}'], {"method": "mtp"}),
        (["-sc", '{"method": "mtp"}'], {"method": "mtp"}),
        (["--speculative-config.method", "mtp"], {"method": "mtp"}),
        (["-sc.method=mtp", "-sc.num_speculative_tokens", "3"], {"method": "mtp", "num_speculative_tokens": 3}),
        (["-sc.a.b", "1", "-sc.a.c", "x"], {"a": {"b": 1, "c": "x"}}),
        (["-sc", '{"a": 1}', "-sc.b", "2"], {"a": 1, "b": 2}),
        (["-sc.on"], {"on": True}),
        (["-sc.b", "2", "-sc", '{"a": 1}'], {"a": 1, "b": 2}),
        (["--x", "-sc.b", "2", "--y", "-sc.c=3"], {"b": 2, "c": 3}),
        ([], {}),
        (["-sc", "{not json"], None),
        (["-sc", "[1]"], None),
        (["-sc"], None),
        (["-sc.a", "1", "-sc.a.b", "2"], None),
    ],
)
def test_json_is_put_together(args, content):
    """In one piece or over dots; what is no mapping is told from what is not given."""
    assert ServeFlags(args).mapping("--speculative-config") == content


def test_a_file_of_flags_may_say_more():
    """Then what is not written here is not known to be absent."""
    assert not ServeFlags(["--config", "x.yaml"]).whole
    assert ServeFlags(["--config-format", "hf"]).whole


def test_each_flag_has_its_place():
    """So that layers can replace a flag with all of its values."""
    found = [(one.name, one.values, one.at) for one in read(["m", "--a", "1", "2", "--no-b", "-tp=2"])]
    assert found == [
        ("--a", ("1", "2"), slice(1, 4)),
        ("--b", (), slice(4, 5)),
        ("--tensor-parallel-size", ("2",), slice(5, 6)),
    ]
