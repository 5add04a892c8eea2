"""Structural tags with and without content, from the check of the request to the compiled grammar."""

ID = "PN523"
STUBS = "the engine's configuration; a tokenizer of some letters. The check, the backend and xgrammar are the real ones"
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0", "0.30.0"), "applied") | dict.fromkeys(("0.32.0", "0.33.0"), "superseded")
TAG = '{"type": "structural_tag", "format": {"type": "const_string", "value": "a"}}'
ASKED = {
    "empty": {"structural_tag": ""},
    "blank": {"structural_tag": " \n"},
    "a tag": {"structural_tag": TAG},
    "no JSON": {"structural_tag": "{"},
    "empty regex": {"regex": ""},
    "json": {"json": '{"type": "object"}'},
}
GREEN = {
    "empty, xgrammar": "refused",
    "blank, xgrammar": "refused",
    "a tag, xgrammar": "compiled",
    "no JSON, xgrammar": "refused",
    "empty regex, xgrammar": "compiled",
    "json, xgrammar": "compiled",
    "empty, auto": "refused",
    "blank, auto": "refused",
    "a tag, auto": "compiled",
    "no JSON, auto": "refused",
    "empty regex, auto": "compiled",
    "json, auto": "compiled",
}
RED = GREEN | dict.fromkeys(("empty, xgrammar", "empty, auto"), "JSONDecodeError")


def observe(version):
    import constraints

    return constraints.outcomes(version, ASKED)
