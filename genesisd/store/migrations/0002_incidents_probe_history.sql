-- What went wrong with workers. The whole of one incident is written each time it changes; lists are JSON.
-- AUTOINCREMENT: people quote ids ("incident 12"), so one is never used twice, also when old ones are pruned.
CREATE TABLE incidents (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    worker      TEXT NOT NULL,
    incarnation INTEGER NOT NULL,
    opened      REAL NOT NULL,
    closed      REAL,
    cause       TEXT NOT NULL,
    title       TEXT NOT NULL,
    text        TEXT NOT NULL,
    build       TEXT,
    evidence    TEXT,
    probes      TEXT NOT NULL,
    happenings  TEXT NOT NULL,
    recorded    TEXT NOT NULL
);
CREATE INDEX incidents_by_worker ON incidents (worker, id);
CREATE INDEX incidents_open ON incidents (worker) WHERE closed IS NULL;

-- What probes said, without what was asked and answered: bounded for each kind of each worker, and by age.
CREATE TABLE probe_history (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    at          REAL NOT NULL,
    worker      TEXT NOT NULL,
    kind        TEXT NOT NULL,
    stage       TEXT NOT NULL,
    verdict     TEXT NOT NULL,
    summary     TEXT NOT NULL,
    incarnation INTEGER NOT NULL,
    seconds     REAL NOT NULL,
    tokens      INTEGER NOT NULL,
    evidence    TEXT NOT NULL
);
CREATE INDEX probe_history_by_kind ON probe_history (worker, kind, id);
CREATE INDEX probe_history_by_time ON probe_history (at);
