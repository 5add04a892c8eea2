"""JSON that asks for something and JSON that asks for nothing, from the check of the request to the grammar."""

ID = "PN387"
STUBS = "the engine's configuration; a tokenizer of some letters. The check, the backend and xgrammar are the real ones"
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0"), "applied") | dict.fromkeys(("0.30.0", "0.32.0", "0.33.0"), "superseded")
ASKED = {
    "empty schema": {"json": ""},
    "blank schema": {"json": " \n"},
    "false": {"json_object": False},
    "true": {"json_object": True},
    "a schema": {"json": '{"type": "object"}'},
    "a schema of anything": {"json": {}},
    "empty grammar": {"grammar": ""},
}
GREEN = {
    "empty schema, xgrammar": "refused",
    "blank schema, xgrammar": "refused",
    "false, xgrammar": "refused",
    "true, xgrammar": "compiled",
    "a schema, xgrammar": "compiled",
    "a schema of anything, xgrammar": "compiled",
    "empty grammar, xgrammar": "refused",
    "empty schema, auto": "refused",
    "blank schema, auto": "refused",
    "false, auto": "refused",
    "true, auto": "compiled",
    "a schema, auto": "compiled",
    "a schema of anything, auto": "compiled",
    "empty grammar, auto": "refused",
}
RED = GREEN | {
    "empty schema, xgrammar": "RuntimeError",
    "false, xgrammar": "ValueError",
    "empty schema, auto": "RuntimeError",
    "false, auto": "ValueError",
}


def observe(version):
    import constraints

    return constraints.outcomes(version, ASKED)
