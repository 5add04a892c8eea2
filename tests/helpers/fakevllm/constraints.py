"""Constrained output: what a request demands, whether a text fits, and a text that does. A small part of each language.

Regular expressions: literals, escapes, classes, groups with alternatives, and the usual repetitions. JSON schema: types,
properties, items, enum, const, minimum, minItems, pattern, anyOf.
"""

import json
import re
from typing import Any

Constraint = tuple[str, Any]
"""(json | json_object | regex | choice | grammar, its value)."""


def constraint(body: dict[str, Any]) -> Constraint | None:
    """What the request demands of the text. Fields that 0.32 does not know, such as guided_regex, demand nothing."""
    for kind, value in (body.get("structured_outputs") or {}).items():
        if kind in {"json", "regex", "choice", "grammar"} and value is not None:
            return kind, json.loads(value) if kind == "json" and isinstance(value, str) else value
        if kind == "json_object" and value:
            return "json_object", None
    asked = body.get("response_format") or {}
    if asked.get("type") == "json_schema":
        return "json", asked["json_schema"].get("schema") or {}
    return ("json_object", None) if asked.get("type") == "json_object" else None


def fits(text: str, bound: Constraint) -> bool:
    """Whether the text fits; of a schema its types, names and enums are looked at."""
    kind, value = bound
    if kind == "regex":
        return re.fullmatch(value, text) is not None
    if kind == "choice":
        return text in value
    try:
        read = json.loads(text)
    except ValueError:
        return False
    return isinstance(read, dict) if kind == "json_object" else kind == "json" and _valid(read, value)


def satisfy(bound: Constraint, prompt: str) -> str:
    """A text that fits, and follows from the constraint alone where that leaves no choice."""
    kind, value = bound
    if kind == "regex":
        return _from_regex(value)
    if kind == "choice":
        return value[sum(prompt.encode()) % len(value)]
    if kind == "grammar":
        literal = re.search(r'"([^"]*)"', value)
        return literal[1] if literal else ""
    return json.dumps(_example(value, "") if kind == "json" else {"answer": "yes"})


_KINDS: dict[str, Any] = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list,
                          "object": dict, "null": type(None)}  # fmt: skip


def _valid(read: Any, schema: dict[str, Any]) -> bool:
    if "enum" in schema and read not in schema["enum"]:
        return False
    kind = schema.get("type")
    if kind and (not isinstance(read, _KINDS[kind]) or (kind in {"integer", "number"} and isinstance(read, bool))):
        return False
    if not isinstance(read, dict):
        return True
    fields = schema.get("properties", {})
    if set(schema.get("required", [])) - set(read) or (
        schema.get("additionalProperties") is False and set(read) - set(fields)
    ):
        return False
    return all(_valid(value, fields.get(key, {})) for key, value in read.items())


def _example(schema: dict[str, Any], name: str) -> Any:
    if "const" in schema or "enum" in schema:
        return schema.get("const", next(iter(schema.get("enum", [None]))))
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return _example(schema[key][0], name)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object":
        return {key: _example(value, key) for key, value in schema.get("properties", {}).items()}
    if kind == "array":
        return [_example(schema.get("items", {}), name)] * max(1, schema.get("minItems", 1))
    if kind == "string":
        return _from_regex(schema["pattern"]) if "pattern" in schema else f"a {name}".strip()
    return {"integer": int(schema.get("minimum", 1)), "number": float(schema.get("minimum", 1.5)), "boolean": True}.get(
        kind
    )


def _from_regex(pattern: str) -> str:
    import re._parser as parser  # the one parser of expressions that the standard library has

    return "".join(_text(one) for one in parser.parse(pattern))


def _text(node: Any) -> str:
    name, value = str(node[0]), node[1]
    if name == "LITERAL":
        return chr(value)
    if name in {"MAX_REPEAT", "MIN_REPEAT"}:
        low, _, inner = value
        return "".join(_text(one) for one in inner) * low
    if name == "SUBPATTERN":
        return "".join(_text(one) for one in value[-1])
    if name == "BRANCH":
        return "".join(_text(one) for one in value[1][0])
    if name == "IN":
        return _member(value)
    return "a" if name in {"ANY", "NOT_LITERAL"} else ""


def _member(options: Any) -> str:
    first = options[0]
    if str(first[0]) == "NEGATE":
        barred = {one[1] for one in options[1:] if str(one[0]) == "LITERAL"}
        return next(letter for letter in "axq1-" if ord(letter) not in barred)
    if str(first[0]) == "RANGE":
        return chr(first[1][0])
    if str(first[0]) == "CATEGORY":
        return {"CATEGORY_DIGIT": "7", "CATEGORY_SPACE": " "}.get(str(first[1]), "a")
    return chr(first[1])
