"""Choices of chats and of plain completions, whole and in chunks."""

from typing import Any

from fakevllm.deltas import deltas, spread
from fakevllm.frames import Frames
from fakevllm.logprobs import of_chat, of_text
from fakevllm.plan import Plan
from fakevllm.template import thinks

_NOTHING = {"refusal": None, "annotations": None, "audio": None, "function_call": None}


class ChatFrames(Frames):
    """Of /v1/chat/completions."""

    kind, whole_kind = "chat.completion.chunk", "chat.completion"

    def choice(self, index: int, one: Plan, endless: bool) -> dict[str, Any]:
        """A message; calls are named only where there are some."""
        reply = self.replies[index]
        message: dict[str, Any] = {"role": "assistant", "content": reply.content, **_NOTHING}
        if reply.calls:
            message["tool_calls"] = [
                {"id": self.asked.call_id(), "type": "function", "function": {"name": name, "arguments": arguments}}
                for name, arguments in reply.calls
            ]
        message["reasoning"] = reply.reasoning
        numbers = of_chat(one.entries, self.body.get("top_logprobs") or 0) if one.entries else None
        return {
            "index": index, "message": message, "logprobs": numbers, "finish_reason": None if endless else reply.finish,
            "stop_reason": one.stop_reason, "token_ids": self.ids(one.ids), "routed_experts": None,
        }  # fmt: skip

    def first(self, index: int) -> dict[str, Any]:
        """The role."""
        delta = {"role": "assistant", "content": ""}
        return {"index": index, "delta": delta, "logprobs": None, "finish_reason": None}

    def chunks(self, index: int, one: Plan) -> list[list[dict[str, Any]]]:
        """A delta a token; the last token ends it, with nothing more to say if it is the end token."""
        reply, top = self.replies[index], self.body.get("top_logprobs") or 0
        said = len(one.ids) - one.ended
        sent = spread(deltas(reply, self.asked.call_id), said) if said else []
        sent += [[{} if self.args.reasoning_parser else {"content": ""}]] * one.ended
        found: list[list[dict[str, Any]]] = []
        for at, parts in enumerate(sent):
            last = at == len(one.ids) - 1
            numbers = of_chat(one.entries[at : at + 1], top) if one.entries else None
            due = parts or ([{}] if last or numbers else [])
            chunks = [{"index": index, "delta": part, "logprobs": numbers, "finish_reason": None} for part in due]
            if last:
                chunks[-1] |= {"finish_reason": reply.finish, "stop_reason": one.stop_reason}
            found.append([chunk | {"token_ids": self.ids(one.ids[at : at + 1])} for chunk in chunks])
        return found

    def made(self, count: int) -> int | None:
        """Chats tell it."""
        return count

    def said_details(self, plans: list[Plan]) -> dict[str, Any] | None:
        """How much of it was thought, with a parser that knows."""
        if not self.args.reasoning_parser:
            return None
        return {"reasoning_tokens": sum(one.thought_tokens(thinks(self.body)) for one in plans)}

    def running_details(self) -> dict[str, Any]:
        """The same, where it is known before the end: not at all."""
        return {"completion_tokens_details": {"reasoning_tokens": 0} if self.args.reasoning_parser else None}

    def prompt_fields(self) -> dict[str, Any]:
        """Of the one prompt."""
        prompt = self.asked.prompts[0]
        return {
            "prompt_logprobs": self.prompt_logprobs(prompt),
            "prompt_token_ids": self.ids(prompt),
            "prompt_text": None,
        }


class TextFrames(Frames):
    """Of /v1/completions."""

    def choice(self, index: int, one: Plan, endless: bool) -> dict[str, Any]:
        """A text; with ``echo`` the prompt stands before it."""
        prompt = self.asked.prompts[index // self.body.get("n", 1)]
        said, text = list(zip(one.entries, one.ids, strict=False)), self.texts[index]
        if self.body.get("echo"):
            text, said = self._echoed(prompt, text, said)
        return {
            "index": index, "text": text, "logprobs": of_text(said) if one.entries else None,
            "finish_reason": None if endless else one.finish, "stop_reason": one.stop_reason,
            "token_ids": self.ids(one.ids), "prompt_logprobs": self.prompt_logprobs(prompt),
            "prompt_token_ids": self.ids(prompt), "routed_experts": None,
        }  # fmt: skip

    def _echoed(self, prompt: list[int], text: str, said: list[Any]) -> tuple[str, list[Any]]:
        from fakevllm.vocab import vocab

        if self.body.get("max_tokens") == 0:
            text, said = "", []
        numbers, top = self.asked.numbers, self.body.get("logprobs") or 1
        read = [
            (numbers.read(prompt[max(0, at - 4) : at], one, top) if at else None, one) for at, one in enumerate(prompt)
        ]
        return vocab().decode(prompt) + text, [*read, *said]

    def chunks(self, index: int, one: Plan) -> list[list[dict[str, Any]]]:
        """A piece a token."""
        found: list[list[dict[str, Any]]] = []
        offset, spoilt = 0, self.texts[index] != one.text
        for at, token in enumerate(one.ids):
            last = at == len(one.ids) - 1
            piece = one.pieces[at] if not spoilt else self.texts[index] if last else ""
            numbers = of_text([(one.entries[at], token)], offset) if one.entries else None
            offset += len(one.pieces[at])
            choice = {"index": index, "text": piece, "logprobs": numbers, "finish_reason": one.finish if last else None,
                      "stop_reason": one.stop_reason if last else None, "prompt_token_ids": None,
                      "token_ids": self.ids([token])}  # fmt: skip
            found.append([choice])
        return found
