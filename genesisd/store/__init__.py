"""SQLite, numbered migrations: the only place with SQL."""

from genesisd.store.database import Problem
from genesisd.store.errors import StoreError, StoreLockedError, StoreTooNewError
from genesisd.store.journal import Entry, Journal
from genesisd.store.meta import Meta
from genesisd.store.store import Store
from genesisd.store.workers import WorkerTable

__all__ = [
    "Entry",
    "Journal",
    "Meta",
    "Problem",
    "Store",
    "StoreError",
    "StoreLockedError",
    "StoreTooNewError",
    "WorkerTable",
]
