-- Sweeps of upstream. A window is done once by a sweep that did not fail; whoever holds the lease works at it.
CREATE TABLE watch_sweeps (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    kind     TEXT NOT NULL,
    window   TEXT NOT NULL,
    owner    TEXT NOT NULL,
    started  REAL NOT NULL,
    lease    REAL NOT NULL,
    finished REAL,
    outcome  TEXT,
    summary  TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX watch_sweeps_by_window ON watch_sweeps (kind, window);

-- The newest answer about each pull request or issue, and the newest failure beside it: JSON, as watch.model has it.
CREATE TABLE watch_facts (
    ref        TEXT PRIMARY KEY,
    pull       TEXT,
    checked_at REAL,
    unknown    TEXT,
    failed_at  REAL
);

-- Small values by kind: ETags, marks of what was read, verdicts on diffs, intents.
CREATE TABLE watch_notes (
    kind  TEXT NOT NULL,
    key   TEXT NOT NULL,
    at    REAL NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;

-- Decisions and what people answered. People quote ids, so none is used twice.
CREATE TABLE watch_decisions (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    key          TEXT NOT NULL UNIQUE,
    row          TEXT NOT NULL,
    decision     TEXT NOT NULL,
    opened       REAL NOT NULL,
    seen         REAL NOT NULL,
    standing     TEXT NOT NULL,
    by           TEXT NOT NULL DEFAULT '',
    why          TEXT NOT NULL DEFAULT '',
    until        REAL,
    revisit_when TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX watch_decisions_by_standing ON watch_decisions (standing, id);

CREATE TABLE watch_dossiers (
    patch   TEXT NOT NULL,
    ref     TEXT NOT NULL,
    pin     TEXT NOT NULL,
    made_at REAL NOT NULL,
    dossier TEXT NOT NULL,
    PRIMARY KEY (patch, ref, pin)
) WITHOUT ROWID;
