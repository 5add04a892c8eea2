"""The part of the GraphQL interface that is used: it answers what was asked for and nothing else, under its aliases."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from graphql import GraphQLSyntaxError, parse
from graphql.language import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
)
from graphql.utilities import value_from_ast_untyped

from .facts import Fact, World
from .faults import Faults

MOST_NODES = 500_000


class UndefinedError(Exception):
    """A field that the double does not have; upstream answers such a query with errors and no data."""


class TooHeavyError(Exception):
    """Upstream gives such a query up, and answers 502."""


def parsed(text: str) -> DocumentNode | None:
    try:
        return parse(text, no_location=True)
    except GraphQLSyntaxError:
        return None


def aliases(document: DocumentNode) -> int:
    """How many issues or pull requests a query asks for by number."""
    found = 0
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode):
            for outer in definition.selection_set.selections:
                inner = outer.selection_set.selections if isinstance(outer, FieldNode) and outer.selection_set else ()
                found += sum(isinstance(one, FieldNode) and one.name.value == "issueOrPullRequest" for one in inner)
    return found


def answer(document: DocumentNode, world: World, faults: Faults, rate: Mapping[str, Any]) -> dict[str, Any]:
    """What the body of an answer holds."""
    asking = _Asking(document, world, faults, rate)
    try:
        data = asking.select(asking.operation.selection_set, asking.root(), "Query", ())
    except UndefinedError as error:
        return {"errors": [{"message": str(error), "extensions": {"code": "undefinedField"}}]}
    return {"data": data} | ({"errors": asking.errors} if asking.errors else {})


class _Asking:
    def __init__(self, document: DocumentNode, world: World, faults: Faults, rate: Mapping[str, Any]) -> None:
        self.operation = next(one for one in document.definitions if isinstance(one, OperationDefinitionNode))
        self.fragments = {
            one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)
        }
        self.world, self.faults, self.rate = world, faults, rate
        self.errors: list[dict[str, Any]] = []
        self.answered = 0

    def root(self) -> dict[str, Any]:
        return {"rateLimit": lambda _, __: {"__typename": "RateLimit", **self.rate}, "repository": self.repository}

    def repository(self, args: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any] | None:
        asked = f"{args['owner']}/{args['name']}"
        name = self.world.now_called(asked)
        known = {fact.ref.repo for fact in self.world.facts.values()} | set(self.world.renames.values())
        if name not in known and asked not in known:
            text = f"Could not resolve to a Repository with the name '{asked}'."
            self.errors.append({"type": "NOT_FOUND", "path": list(path), "message": text})
            return None

        def one(args: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any] | None:
            fact = self.world.find(name, args["number"])
            self.answered += 1
            if self.faults.exhausted_after is not None and self.answered > self.faults.exhausted_after:
                text = "Resource limits for this query exceeded."
                self.errors.append({"type": "RESOURCE_LIMITS_EXCEEDED", "path": list(path), "message": text})
                return None
            if fact is not None and fact.ref in self.faults.nulls:
                if (kind := self.faults.nulls[fact.ref]) is not None:
                    text = "Something went wrong while executing your query."
                    self.errors.append({"type": kind, "path": list(path), "message": text})
                return None
            if fact is None:
                text = f"Could not resolve to an issue or pull request with the number of {args['number']}."
                self.errors.append({"type": "NOT_FOUND", "path": list(path), "message": text})
                return None
            return node(fact)

        def newest(args: Mapping[str, Any], _: tuple[str, ...]) -> dict[str, Any]:
            assert args["orderBy"] == {"field": "UPDATED_AT", "direction": "DESC"}
            assert 1 <= args["first"] <= 100
            try:
                return _connection(self.world.newest(name), args["first"], args.get("after"))
            except ValueError:
                raise UndefinedError(f"`{args['after']}` does not appear to be a valid cursor.") from None

        return {
            "__typename": "Repository",
            "nameWithOwner": name,
            "issueOrPullRequest": one,
            "pullRequests": newest,
        }

    def select(self, chosen: SelectionSetNode, value: Any, kind: str, path: tuple[str, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for one in chosen.selections:
            if isinstance(one, FieldNode):
                key = one.alias.value if one.alias else one.name.value
                found[key] = self.field(one, value, (*path, key))
                continue
            inner = one if isinstance(one, InlineFragmentNode) else self.fragments[one.name.value]
            if inner.type_condition is None or inner.type_condition.name.value == value.get("__typename", kind):
                found |= self.select(inner.selection_set, value, kind, path)
        return found

    def field(self, asked: FieldNode, value: Mapping[str, Any], path: tuple[str, ...]) -> Any:
        name = asked.name.value
        if name not in value:
            raise UndefinedError(f"Field '{name}' doesn't exist on type '{value.get('__typename', 'Query')}'")
        args = {one.name.value: value_from_ast_untyped(one.value) for one in asked.arguments or ()}
        told = value[name](args, path) if callable(value[name]) else value[name]
        if name == "files" and (bad := self._bad_files(value["number"], path)):
            return bad.pop()
        if asked.selection_set is None or told is None:
            return told
        if isinstance(told, list):
            return [self.select(asked.selection_set, each, "", path) for each in told]
        return self.select(asked.selection_set, told, "", path)

    def _bad_files(self, number: int, path: tuple[str, ...]) -> list[None]:
        """A null in a list, where the files cannot be told; empty where they can."""
        if self.faults.heavy_files is not None and self.faults.heavy_files.number == number:
            raise TooHeavyError
        if self.faults.no_files is None or self.faults.no_files.number != number:
            return []
        self.errors.append({"type": "SERVICE_UNAVAILABLE", "path": list(path), "message": "Timeout on files"})
        return [None]


def node(fact: Fact) -> dict[str, Any]:
    """As upstream has it."""
    told: dict[str, Any] = {
        "__typename": "Issue" if fact.is_issue else "PullRequest",
        "number": fact.ref.number,
        "title": fact.title,
        "state": fact.state.upper(),
        "createdAt": moment(fact.created_at),
        "updatedAt": moment(fact.updated_at),
        "closedAt": moment(fact.closed_at),
        "labels": _first([{"__typename": "Label", "name": name} for name in fact.labels]),
    }
    if fact.is_issue:
        return told
    return told | {
        "isDraft": fact.draft,
        "baseRefName": fact.base,
        "headRefOid": fact.head,
        "mergeCommit": {"__typename": "Commit", "oid": fact.merge_commit} if fact.merge_commit else None,
        "mergedAt": moment(fact.merged_at),
        "files": _first([{"__typename": "PullRequestChangedFile", "path": name} for name in fact.files]),
    }


def _first(nodes: list[dict[str, Any]]) -> Callable[[Mapping[str, Any], tuple[str, ...]], dict[str, Any]]:
    def cut(args: Mapping[str, Any], _: tuple[str, ...]) -> dict[str, Any]:
        assert 1 <= args["first"] <= 100, "upstream refuses a connection without a size"
        return {"nodes": nodes[: args["first"]], "totalCount": len(nodes)}

    return cut


def _connection(facts: list[Fact], first: int, after: str | None) -> dict[str, Any]:
    """Cursors hold a place in the order, not a number of entries: they outlive changes."""
    if after is not None:
        at, number = base64.b64decode(after).decode().split()
        facts = [fact for fact in facts if (-fact.updated_at, -fact.ref.number) > (-float(at), -int(number))]
    shown = facts[:first]
    return {
        "totalCount": len(facts),
        "pageInfo": {"hasNextPage": len(facts) > first},
        "edges": [{"cursor": cursor(fact), "node": node(fact)} for fact in shown],
    }


def cursor(fact: Fact) -> str:
    return base64.b64encode(f"{fact.updated_at} {fact.ref.number}".encode()).decode()


def moment(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
