"""Fields that are missing or of the wrong type, refused in pydantic's words as vLLM passes them on."""

from typing import Any


class RefusedError(Exception):
    """An answer with an error object."""

    def __init__(
        self, message: str, param: str | None = None, status: int = 400, kind: str = "BadRequestError"
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": status}}


def invalid(*errors: dict[str, Any]) -> RefusedError:
    """One refusal for all errors."""
    head = f"{len(errors)} validation error{'s' if len(errors) > 1 else ''}:"
    return RefusedError("\n  ".join([head, *map(str, errors)]), errors[0]["loc"], kind="Bad Request")


def missing(body: dict[str, Any], *fields: str) -> RefusedError:
    """Fields of which one has to be there."""
    given = f"<dict of {len(body)} items>"
    said = [{"type": "missing", "loc": f"body.{one}", "msg": "Field required", "input": given} for one in fields]
    return invalid(*said)


def no_json(error: str) -> RefusedError:
    """A body that is no JSON."""
    empty, why = "<dict of 0 items>", {"error": error}
    said = {"type": "json_invalid", "loc": "body.1", "msg": "JSON decode error", "input": empty, "ctx": why}
    return invalid(said)


def no_integer(loc: str, value: str) -> RefusedError:
    """Text where a whole number belongs."""
    words = "Input should be a valid integer, unable to parse string as an integer"
    return invalid({"type": "int_parsing", "loc": loc, "msg": words, "input": value})


def check_types(body: dict[str, Any]) -> None:
    """Raise for a temperature that is text, a message without a role, and an unknown response format."""
    if isinstance(heat := body.get("temperature"), str):
        words = "Input should be a valid number, unable to parse string as a number"
        raise invalid({"type": "float_parsing", "loc": "body.temperature", "msg": words, "input": heat})
    for at, one in enumerate(body.get("messages") or []):
        if "role" not in one:
            raise missing(one, f"messages.{at}.ChatCompletionUserMessageParam.role")
    kind = (body.get("response_format") or {}).get("type", "text")
    if kind not in {"text", "json_object", "json_schema", "structural_tag"}:
        known = "'text', 'json_object' or 'json_schema'"
        loc, words = "body.response_format.type", f"Input should be {known}"
        raise invalid({"type": "literal_error", "loc": loc, "msg": words, "input": kind, "ctx": {"expected": known}})
