"""/tokenize and /detokenize."""

from typing import Any

from fakevllm.demo import notation_of
from fakevllm.invalid import RefusedError, missing, no_integer, no_json
from fakevllm.server import Exchange
from fakevllm.template import render
from fakevllm.vocab import vocab


def answer(exchange: Exchange, args: Any, tokenizer: str) -> None:
    """Answer either; ``tokenizer`` "shifted": ids that another tokenizer would give."""
    try:
        said = _answer(exchange, args, tokenizer)
    except ValueError as error:
        refused = no_json(str(error).partition(":")[0])
        exchange.answer_json(refused.status, refused.body)
    except RefusedError as error:
        exchange.answer_json(error.status, error.body)
    else:
        exchange.answer_json(200, said)


def _answer(exchange: Exchange, args: Any, tokenizer: str) -> dict[str, Any]:
    body, name = exchange.json(), args.served_model_name
    if body.get("model") not in (None, name):
        message = f"The model `{body['model']}` does not exist. Valid aliases: {name}."
        raise RefusedError(message, "model", 404, "NotFoundError")
    return (_ids if exchange.path == "/tokenize" else _text)(body, args, int(tokenizer == "shifted"))


def _ids(body: dict[str, Any], args: Any, shift: int) -> dict[str, Any]:
    if "messages" in body:
        text = render(body, notation_of(args), body.get("add_generation_prompt", True))
    elif "prompt" in body:
        text = body["prompt"]
    else:
        raise missing(body, "prompt", "messages")
    ids = [(one + shift) % vocab().size for one in vocab().encode(text)]
    strings = [vocab().texts.get(one, "") for one in ids] if body.get("return_token_strs") else None
    return {"count": len(ids), "max_model_len": args.max_model_len, "tokens": ids, "token_strs": strings}


def _text(body: dict[str, Any], args: Any, shift: int) -> dict[str, Any]:
    if "tokens" not in body:
        raise missing(body, "tokens")
    for at, one in enumerate(body["tokens"]):
        if not isinstance(one, int):
            raise no_integer(f"body.tokens.{at}", one)
    ids = [(one - shift) % vocab().size if shift else one for one in body["tokens"]]
    return {"prompt": vocab().decode(ids, skip_special=False)}
