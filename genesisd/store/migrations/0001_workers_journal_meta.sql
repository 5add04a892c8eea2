-- What the daemon knew of each worker. ``state`` is JSON of the version in ``schema``; the columns beside it are for queries by people.
CREATE TABLE workers (
    name        TEXT PRIMARY KEY,
    phase       TEXT NOT NULL,
    wanted      INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    schema      INTEGER NOT NULL,
    state       TEXT NOT NULL,
    boot_id     TEXT NOT NULL,
    saved_mono  REAL NOT NULL,
    saved_wall  REAL NOT NULL
) WITHOUT ROWID;

-- AUTOINCREMENT: an id is never used twice, so "everything after id N" stays true when old rows are pruned.
CREATE TABLE journal (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    at          REAL NOT NULL,
    kind        TEXT NOT NULL,
    worker      TEXT,
    incarnation INTEGER,
    fields      TEXT NOT NULL
);
CREATE INDEX journal_by_worker ON journal (worker, id);
CREATE INDEX journal_by_time ON journal (at);

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
