"""Masks secrets, and withholds what users wrote, in whatever is kept or shown of a fault. Pure.

Rather too much than too little: a line that lost its end still says where and when; a prompt in a bundle that is
mailed around cannot be taken back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from genesisd.incidents.forms import forms

MASKED = "[masked]"
WITHHELD = "[withheld]"
SHORTEST = 4
"""Characters of a known secret below which replacing it everywhere would garble every text."""
LONG_ENOUGH = 6
"""The same for what is taken from the midst of a setting: it may be a word like any other."""
QUOTED = 200
"""Characters of a quotation that are too many for a name, a path or a reason."""

LONGEST = 4096
"""Characters of a line that are looked at and kept."""

_SURE = r"(?:api[-_]?keys?|secret|password|passwd|passphrase|credentials?)"
_WORD = (
    rf"(?:{_SURE}|token|auth|pwd|cookie"
    r"|(?:private|access|secret|signing|encryption|master|account|client|license|ssh)[-_]?(?:keys?|secret))"
)
"""The end of a name whose value is a secret: ``--api-key``, ``HF_TOKEN``; not ``max_tokens``, not ``tokenizer``."""
_BEGINS = rf"(?:(?<![A-Za-z])|(?={_SURE})|(?-i:(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z]{{1,16}}=)))"
"""Where the word may begin: ``hf_token``, ``PGPASSWORD``, ``accessToken``, ``HFTOKEN=``; not ``detokens:``.

No word is longer: without an end a line of capitals, which an engine that answers garbage says, took seconds.
"""
_VALUE = r"""(?:\[[^\]]*\]?|\([^)]*\)?|b?'[^']*'?|b?"[^"]*"?|\\+["'].*?(?:\\+["']|$)|[^\s,;&'"}\])]+)"""
_QUOTE = r"""(?:\\*['"])?"""
"""JSON within JSON quotes its quotes."""
_ASSIGNED = re.compile(rf"""(?i){_BEGINS}({_WORD}{_QUOTE}\]?\s*[=:,]\s*)(?:(?:bearer|basic)\s+)?({_VALUE})""")
_FLAGGED = re.compile(rf"(?i)(--[\w-]{{0,40}}?{_WORD})((?:\s+(?!-)\S+)+)")
_LOGIN = re.compile(
    r"(\b[A-Za-z][\w+.-]{0,20}://)"
    r"(?:[^/\s'\"]{1,300}@|(?!\[)[^/\s:@'\"]{0,100}:(?!\d{1,5}(?!\w))[^\s@'\"]{1,300}(?:@|$))"
)
"""Before a host. A password may hold an @, or (written so by hand) a slash, and its line may be cut; a port is none."""
_SECRETS = (
    (re.compile(r"(?i)\b((?:set-)?cookie:\s*)\S.*"), rf"\1{MASKED}"),
    (_FLAGGED, rf"\1 {MASKED}"),
    (_ASSIGNED, rf"\1{MASKED}"),
    (re.compile(r"((?-i:_PASS)=)[^\s'\"]+"), rf"\1{MASKED}"),
    (re.compile(r"(?i)\b(authorization\W{1,6})(?:b?['\"])?(?:bearer\s+|basic\s+)?[^\s'\",]+"), rf"\1{MASKED}"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{4,}"), rf"\1 {MASKED}"),
    (_LOGIN, rf"\1{MASKED}@"),
    (re.compile(r"(\b[A-Za-z][\w+.-]{0,20}://[^\s'\"<>?]{1,500}\?)[^\s'\"<>]+"), rf"\1{MASKED}"),
    (re.compile(r"\b(?:hf|ghp|gho|ghu|ghs|ghr|github_pat)_[A-Za-z0-9_]{16,}"), MASKED),
    (re.compile(r"\b(?:sk|pk|rk|nvapi|glpat|xox[abprs])-[\w-]{8,}"), MASKED),
    (re.compile(r"\bAKIA[0-9A-Z]{12,}"), MASKED),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?"), MASKED),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*"), MASKED),
    (re.compile(r"(\"[A-Z]{3,7} [^\s?\"]*)\?[^\s\"]*"), rf"\1?{MASKED}"),
)  # fmt: skip
_SECRET_NAME = re.compile(
    r"(?i)key|token|secret|passw|passphrase|pwd|credential|auth|cookie|dsn|webhook|(?:^|_)pass(?:$|_)"
)
_PLAIN_NAME = re.compile(
    r"(?i)tokenizer|(?:^|[-_])(?:max|num|spec)[-_]?(?:.*[-_])?tokens$|tokens_per_|token[-_]threshold|fastokens"
    r"|keyfile|key_?path|keep_?alive|author\b"
)
"""Numbers and switches of vLLM among them: a known secret of ``2048`` would be masked in every line."""
_USERS = re.compile(
    r"""(?ix)
    \b(?:prompts?|prompt_?token_?ids|prompt_?embeds|output|outputs|output_?text|output_?token_?ids|input|inputs|input_?value
      |input_?ids|messages?_?content|messages|content|params|sampling_?params|token_?ids|new_?token_?ids|body|model_?output
      |reasoning(?:_content)?|(?<!unrecognized\s)arguments|tool_calls|delta(?:_text)?|previous_text|current_text|completion|text|query|documents?
      |suffix|stop|bad_words|guided_\w+|structured_outputs|chat_template_kwargs|request_body|json_data)
      ['"]?\s*(?:[:=]\s*(?=['"\[({\\b<]|[A-Z]\w*\()|[:=]\s*(?!\d+(?:\.\d+)?\b|None\b|True\b|False\b)(?=\S))
    | \b(?:Sampling|Pooling|Beam\w*)Params\(
    | \bDumping\s (?:input|scheduler)\b
    | \bscheduled_\w+_reqs\b
    | \b(?:ChatCompletion|Completion|Responses?|Embedding|Tokenize|Score|Rerank)\w*Request\(
    """
)
_STARTS_LINE = re.compile(
    r"""(?x)^\s*(?:\(\w[\w\s.-]*\spid=\d+\)\s*)?(?:
      (?:DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL)\b | \[?\d{4}[-/]\d\d | \d\d:\d\d:\d\d | \[[\w\s:.,-]*\]
      | Traceback\s\( | File\s" | (?:\w+\.)*\w*(?:Error|Exception|Warning|Interrupt|Exit)\b | The\sabove\sexception | During\shandling
    )"""
)
_LOGGED = re.compile(
    r"^(?:\([^)]*pid=\d+\)\s*)?(DEBUG|INFO|WARNING|ERROR|CRITICAL)\s+\d\d-\d\d [\d:]+ \[([\w./-]+):\d+\] ?"
)
_OF_REQUESTS = re.compile(r"request_logger|parser|harmony|response_template|mistral|gemma|glm|tool")
"""Files of vLLM whose lines are made of requests and answers, in words that change from release to release."""
_FRAME = re.compile(r"\s*(?:File \"|Traceback \()")
_QUOTED = re.compile(rf"""(?<![\w'"\])])('|")(?:(?!\1).){{{QUOTED},}}(?:\1|$)""")


class Redactor:
    """Masks what it knows to be secret and what looks so.

    Args:
        known: values that are secret whatever stands around them (environment, API keys of specs).
        live: more of them, asked for each time: a reload may bring new ones.
    """

    def __init__(self, known: Iterable[str] = (), live: Callable[[], Iterable[str]] = tuple) -> None:
        self._known: tuple[frozenset[str], tuple[str, ...]] = (frozenset(), ())
        """The values, and all their forms, replaced at once: a bundle is written by a thread beside the loop."""
        self._live = live
        self._learnt(known)

    def _learnt(self, known: Iterable[str]) -> tuple[str, ...]:
        """All that is to be masked, in whatever form, once these are known too; too short ones are left out."""
        values, found = self._known
        if new := frozenset(one for one in known if len(one) >= SHORTEST) - values:
            more = {*found, *(one for value in new for one in forms(value) if len(one) >= SHORTEST)}
            found = tuple(sorted(more, key=lambda one: (-len(one), one)))
            self._known = values | new, found
        return found

    def secrets(self, text: str) -> str:
        """The text without secrets; what users wrote stays."""
        return _masked(text, self._learnt(self._live()))

    def page(self, text: str) -> str:
        """The same for a text of many lines, each by itself."""
        known = self._learnt(self._live())
        return "\n".join(_masked(line, known) for line in text.split("\n"))

    def text(self, text: str) -> str:
        """One sentence or line without secrets, and without what users wrote."""
        return _withheld(self.secrets(text))[0]

    def lines(self, lines: Iterable[str]) -> list[str]:
        """Log lines; where one carries what users wrote, the lines that continue it go too."""
        found: list[str] = []
        inside = False
        for line in lines:
            if inside and not _STARTS_LINE.match(line):
                continue
            text, inside = _withheld(self.secrets(line[:LONGEST]))
            found.append(text)
        return found

    def argv(self, words: Sequence[str]) -> list[str]:
        """A command line, word by word."""
        found: list[str] = []
        hiding = False
        for word in words:
            flag, equals, _ = word.partition("=")
            if word.startswith("-"):
                hiding = _is_secret(flag.lstrip("-")) and not equals
                secret = _is_secret(flag.lstrip("-")) and bool(equals)
                found.append(f"{flag}={MASKED}" if secret else self.secrets(word))
            else:
                found.append(MASKED if hiding else self.secrets(word))
        return found

    def tree(self, value: Any) -> Any:
        """A spec or other plain data: values of secret names are masked, and each text in it."""
        if isinstance(value, Mapping):
            return {str(name): MASKED if _hides(name, one) else self.tree(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            texts = all(isinstance(one, str) for one in value)
            return self.argv(value) if texts else [self.tree(one) for one in value]
        return self.secrets(value) if isinstance(value, str) else value


def secret_values(environ: Mapping[str, str]) -> Collection[str]:
    """The values of an environment whose names say that they are secret, and the secrets within the others."""
    found = {value for name, value in environ.items() if _is_secret(name)}
    return {one for one in found.union(*map(within, environ.values())) if len(one) >= SHORTEST}


def secret_words(argv: Sequence[str]) -> Collection[str]:
    """The values on a command line whose flags say that they are secret, and the secrets within its words."""
    found: set[str] = set()
    hiding = False
    for word in argv:
        flag, _, value = word.partition("=")
        if word.startswith("-"):
            hiding = _is_secret(flag.lstrip("-")) and not value
            if _is_secret(flag.lstrip("-")) and value:
                found.add(value)
        elif hiding:
            found.add(word)
    return {one for one in found.union(*map(within, argv)) if len(one) >= SHORTEST}


@lru_cache(4096)
def within(text: str) -> frozenset[str]:
    """What a setting holds that is secret without being all of it: logins in addresses, JSON, a shell's command."""
    found = {value for one in _ASSIGNED.finditer(text) for value in re.split(r"[^\w.~+/=$%!^*-]+", one[2])}
    found |= {word.strip("'\"") for one in _FLAGGED.finditer(text) for word in one[2].split()}
    found |= {one[0][len(one[1]) :].removesuffix("@").partition(":")[2] for one in _LOGIN.finditer(text)}
    return frozenset(one for one in found if len(one) >= LONG_ENOUGH)


def _masked(text: str, known: Iterable[str]) -> str:
    for value in known:
        text = text.replace(value, MASKED)
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


def _is_secret(name: str) -> bool:
    return _SECRET_NAME.search(_PLAIN_NAME.sub("", name)) is not None


def _hides(name: object, value: object) -> bool:
    """A number or a switch is no secret; a list under such a name is one (``api_key: [a, b]``)."""
    return _is_secret(str(name)) and isinstance(value, str | list | tuple)


def _withheld(line: str) -> tuple[str, bool]:
    """The line up to what users wrote, and whether there was any."""
    logged = _LOGGED.match(line)
    if logged is not None and (logged[1] == "DEBUG" or _OF_REQUESTS.search(logged[2])):
        return (line, False) if _FRAME.match(line, logged.end()) else (logged.group() + WITHHELD, True)
    if (found := _USERS.search(line)) is not None:
        return f"{line[: found.start()]}{found.group().rstrip(' =:([{')}: {WITHHELD}", True
    cut = _QUOTED.sub(rf"\1{WITHHELD}\1", line)
    return cut, cut != line
