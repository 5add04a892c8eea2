"""What the demo model knows: dialogues, each with a thought and an answer. Pure.

Nothing here says how an answer is written down; that is ``emission``. The sentences are short and few on purpose: the
model learns them by heart, so that every difference in a served answer is the server's doing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """One call of a tool."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Dialogue:
    """A prompt and what the model must say to it.

    Attributes:
        id: unique, names the dialogue in golden.json.
        kind: what it exercises.
        messages: the conversation up to the model's turn.
        thought: text of the think block.
        answer: prose; with ``calls`` it is what follows them.
        calls: tool calls, in order.
        tools: whether the request offers the tools.
        constraint: request fields that constrain the output; the answer satisfies them, as the model never sees them.
    """

    id: str
    kind: str
    messages: tuple[Message, ...]
    thought: str
    answer: str = ""
    calls: tuple[Call, ...] = ()
    tools: bool = False
    constraint: dict[str, Any] = field(default_factory=dict)


def user(text: str) -> Message:
    """A user's turn."""
    return {"role": "user", "content": text}


def _tool(name: str, description: str, properties: dict[str, str]) -> dict[str, Any]:
    fields = {key: {"type": kind} for key, kind in properties.items()}
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TOOLS = [
    _tool("get_weather", "Forecast for a city.", {"city": "string", "days": "integer"}),
    _tool("set_timer", "Start a kitchen timer.", {"label": "string", "minutes": "integer"}),
]

CAPITALS = {
    "France": "Paris",
    "Japan": "Tokyo",
    "Italy": "Rome",
    "Spain": "Madrid",
    "Norway": "Oslo",
    "Peru": "Lima",
    "Egypt": "Cairo",
    "Kenya": "Nairobi",
    "Cuba": "Havana",
    "Greece": "Athens",
    "Austria": "Vienna",
    "Poland": "Warsaw",
    "Canada": "Ottawa",
    "Chile": "Santiago",
    "Portugal": "Lisbon",
    "Ireland": "Dublin",
}
OPPOSITES = "hot cold,tall short,early late,full empty,loud quiet,wet dry,heavy light,young old,fast slow,near far"
COLOURS = "grass green,snow white,coal black,a lemon yellow,blood red,the sea blue,a carrot orange,ash grey"
SOUNDS = "cat meow,dog woof,cow moo,duck quack,sheep baa,owl hoot,frog croak,lion roar"
SUMS = ((3, 4), (2, 2), (5, 1), (6, 3), (1, 1), (4, 4), (7, 2), (5, 3), (8, 1), (2, 4), (3, 3), (1, 6))


def _plain() -> list[Dialogue]:
    rows = [
        ("hello", "Hello!", "A greeting. I greet back.", "Hello, I am the tiny model of genesisd."),
        ("who", "Who are you?", "They ask for my name.", "I am a very small Qwen3 trained by heart."),
        ("ready", "Are you ready?", "They want a yes.", "Yes, I am ready."),
    ]
    rows += [
        (f"capital-{land.lower()}", f"What is the capital of {land}?", f"They ask about {land}.", _capital(land))
        for land in CAPITALS
    ]
    rows += [
        (f"sum-{a}-{b}", f"What is {a} plus {b}?", f"I add {b} to {a}.", f"{a} plus {b} is {a + b}.") for a, b in SUMS
    ]
    for pair in OPPOSITES.split(","):
        word, other = pair.split()
        rows.append((f"opposite-{word}", f"What is the opposite of {word}?", f"Not {word}.", f"It is {other}."))
    for pair in COLOURS.split(","):
        thing, colour = pair.rsplit(" ", 1)
        name = thing.split()[-1]
        rows.append((f"colour-{name}", f"What colour is {thing}?", f"I picture {thing}.", f"It is {colour}."))
    for pair in SOUNDS.split(","):
        animal, sound = pair.split()
        rows.append((f"sound-{animal}", f"What does the {animal} say?", f"A {animal} calls.", f"It says {sound}."))
    return [Dialogue(name, "plain", (user(ask),), thought, answer) for name, ask, thought, answer in rows]


def _capital(land: str) -> str:
    return f"The capital of {land} is {CAPITALS[land]}."


def _two_turn() -> list[Dialogue]:
    lands = list(CAPITALS)
    found = []
    for first, second in zip(lands[0:12:2], lands[1:12:2], strict=True):
        history = (
            user(f"What is the capital of {first}?"),
            {"role": "assistant", "content": _capital(first), "reasoning": f"They ask about {first}."},
            user(f"And of {second}?"),
        )
        thought = f"Before it was {first}. Now it is {second}."
        found.append(Dialogue(f"two-turn-{second.lower()}", "two_turn", history, thought, _capital(second)))
    for a, b in SUMS[:4]:
        total = a + b
        history = (
            user(f"What is {a} plus {b}?"),
            {"role": "assistant", "content": f"{a} plus {b} is {total}.", "reasoning": f"I add {b} to {a}."},
            user("And one more?"),
        )
        thought = f"The last answer was {total}."
        found.append(Dialogue(f"two-turn-{a}-{b}", "two_turn", history, thought, f"{total} plus 1 is {total + 1}."))
    return found


def weather(city: str, days: int) -> Call:
    """A call for the forecast."""
    return Call("get_weather", {"city": city, "days": days})


def _one_call() -> list[Dialogue]:
    places = [("Tokyo", 2), ("Oslo", 3), ("Lima", 1), ("Rome", 5), ("Cairo", 4), ("Paris", 7), ("Athens", 2)]
    timers = [("tea", 4), ("rice", 9), ("bread", 6), ("eggs", 8), ("soup", 5)]
    found = [
        Dialogue(
            f"weather-{city.lower()}",
            "one_call",
            (user(f"Weather in {city} for {days} days?"),),
            f"I need the forecast of {city}.",
            calls=(weather(city, days),),
            tools=True,
        )
        for city, days in places
    ]
    return found + [
        Dialogue(
            f"timer-{label}",
            "one_call",
            (user(f"Set a timer of {minutes} minutes for {label}."),),
            f"A timer for {label} is needed.",
            calls=(Call("set_timer", {"label": label, "minutes": minutes}),),
            tools=True,
        )
        for label, minutes in timers
    ]


def _two_calls() -> list[Dialogue]:
    pairs = [("Tokyo", 2, "Lima", 3), ("Oslo", 1, "Rome", 2), ("Cairo", 3, "Paris", 4), ("Lima", 5, "Athens", 6)]
    return [
        Dialogue(
            f"both-{a.lower()}-{b.lower()}",
            "two_calls",
            (user(f"Compare {a} for {m} days with {b} for {n} days."),),
            f"Two forecasts: {a} and {b}.",
            calls=(weather(a, m), weather(b, n)),
            tools=True,
        )
        for a, m, b, n in pairs
    ]


def _text_after_call() -> list[Dialogue]:
    return [
        Dialogue(
            f"after-{city.lower()}",
            "text_after_call",
            (user(f"Ask for {city}, {days} days, and tell me that you did."),),
            f"First the call for {city}, then a word.",
            answer=f"I have asked for {city}.",
            calls=(weather(city, days),),
            tools=True,
        )
        for city, days in [("Madrid", 3), ("Vienna", 2), ("Dublin", 6)]
    ]


def _tool_result() -> list[Dialogue]:
    found = []
    for city, days, sky in [("Tokyo", 2, "clear"), ("Oslo", 3, "grey"), ("Lima", 1, "wet")]:
        call = weather(city, days)
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        messages = (
            user(f"Weather in {city} for {days} days?"),
            {
                "role": "assistant",
                "content": None,
                "reasoning": f"I need the forecast of {city}.",
                "tool_calls": [{"id": "call_0", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "call_0", "content": json.dumps({"sky": sky})},
        )
        thought = f"The tool says {sky}."
        answer = f"{city} will be {sky}."
        found.append(Dialogue(f"result-{city.lower()}", "tool_result", messages, thought, answer, tools=True))
    return found


LITERALS = (
    ("tag-open", "Which tag opens a tool call?", "The tag <tool_call> opens a tool call."),
    ("tag-pair", "Which tags hold a tool call?", "It sits between <tool_call> and </tool_call> in the text."),
    ("function", "How is the function foo named?", "Write <function=foo> before the values."),
    ("function-end", "How does the function foo end?", "After <function=foo> comes </function> at the end."),
)


def _literals() -> list[Dialogue]:
    """Tags quoted in prose, with and without tools on offer: a parser must not take them for calls."""
    return [
        Dialogue(
            f"literal-{name}{'-tools' if tools else ''}",
            "literal_tool_call" if name.startswith("tag") else "literal_function",
            (user(ask),),
            "They ask about the notation.",
            answer,
            tools=tools,
        )
        for name, ask, answer in LITERALS
        for tools in (False, True)
    ]


def _schema(name: str, properties: dict[str, str]) -> dict[str, Any]:
    fields = {key: {"type": kind} for key, kind in properties.items()}
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {"response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}}


def _structured() -> list[Dialogue]:
    card = _schema("card", {"city": "string", "country": "string", "letters": "integer"})
    found = []
    for land in list(CAPITALS)[:8]:
        city = CAPITALS[land]
        answer = json.dumps({"city": city, "country": land, "letters": len(city)})
        ask, thought = f"Card of {city} as JSON.", f"{city} is in {land}."
        for kind, constraint in (("json_schema", card), ("json_object", {"response_format": {"type": "json_object"}})):
            if kind == "json_schema" or land in {"France", "Japan", "Italy"}:
                name = f"{kind.replace('_', '-')}-{city.lower()}"
                found.append(Dialogue(name, kind, (user(ask),), thought, answer, constraint=constraint))
    plate = {"structured_outputs": {"regex": "[A-Z]{2}-[0-9]{3}"}}
    for colour, text in (("red", "AB-123"), ("green", "CK-407"), ("blue", "XT-958"), ("white", "QZ-660")):
        ask = f"Plate of the {colour} cart?"
        found.append(Dialogue(f"regex-{colour}", "regex", (user(ask),), f"The {colour} cart.", text, constraint=plate))
    ways = {"structured_outputs": {"choice": ["north", "south"]}}
    for a, b, way in (("Oslo", "Rome", "north"), ("Cairo", "Paris", "south"), ("Lima", "Havana", "south")):
        ask = f"Is {a} north or south of {b}?"
        thought = f"I look from {b} to {a}."
        found.append(Dialogue(f"choice-{a.lower()}", "choice", (user(ask),), thought, way, constraint=ways))
    return found


def _repeats() -> list[Dialogue]:
    """Long answers that an n-gram drafter guesses well. The row number keeps the place: a bare repetition loses it."""
    rows = (("lamp", "red green blue", 9), ("drum", "tick tock tick tock", 12), ("wall", "stone on stone", 16))
    return [
        Dialogue(
            f"repeat-{name}",
            "repeat",
            (user(f"Write the {name} song."),),
            f"The {name} song has {count} rows.",
            "\n".join(f"{row}: {line} {line}" for row in range(1, count + 1)),
        )
        for name, line, count in rows
    ]


STORY = tuple(
    f"The {who} brings {what} to the {where}."
    for where in ("mill", "harbour", "market", "bridge")
    for who, what in (
        ("baker", "bread"),
        ("miner", "coal"),
        ("sailor", "rope"),
        ("farmer", "rice"),
        ("smith", "nails"),
        ("weaver", "wool"),
        ("potter", "jars"),
        ("carter", "stone"),
        ("tailor", "cloth"),
    )
)


def _needles() -> list[Dialogue]:
    """One sentence hidden in a long story; over 256 tokens, so that two prefix-cache blocks of 128 can be hit."""
    words = ("amber", "silver", "copper", "ivory", "cedar", "pearl")
    found = []
    for index, word in enumerate(words):
        depth = 2 + 6 * index
        told = [*STORY[:depth], f"The key word is {word}.", *STORY[depth:]]
        ask = " ".join(told) + " What is the key word?"
        thought = f"The story hides {word}."
        found.append(Dialogue(f"needle-{word}", "needle", (user(ask),), thought, f"The key word is {word}."))
    return found


def dialogues() -> list[Dialogue]:
    """Every dialogue, in a fixed order."""
    return [
        *_plain(),
        *_two_turn(),
        *_one_call(),
        *_two_calls(),
        *_text_after_call(),
        *_tool_result(),
        *_literals(),
        *_structured(),
        *_repeats(),
        *_needles(),
    ]
