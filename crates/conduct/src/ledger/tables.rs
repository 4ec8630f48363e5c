//! The tables of the ledger, and the constraints that SQLite enforces.

/// The version of the tables. Other versions are rejected.
pub const VERSION: i64 = 2;

/// The application id that identifies our files: "tlrl" in ASCII.
pub const APPLICATION: i64 = 0x746c_726c;

/// The tables. The triggers prevent every writer from changing settled obligations and ended runs.
pub const TABLES: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE TABLE requests (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL,
    document TEXT NOT NULL,
    utterance TEXT,
    status TEXT NOT NULL CHECK (status IN ('received', 'planned', 'refused', 'answered')),
    answer TEXT,
    created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX requests_by_digest ON requests (digest);

CREATE TABLE obligations (
    id INTEGER PRIMARY KEY,
    request INTEGER NOT NULL REFERENCES requests (id),
    parent INTEGER REFERENCES obligations (id),
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    payload TEXT NOT NULL,
    say TEXT,
    status TEXT NOT NULL CHECK (status IN ('active', 'resolved', 'failed', 'escalated')),
    note TEXT,
    UNIQUE (request, name)
) STRICT;
CREATE INDEX obligations_by_status ON obligations (request, status);

CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    obligation INTEGER NOT NULL REFERENCES obligations (id),
    purpose TEXT NOT NULL CHECK (purpose IN ('plan', 'verify')),
    tool TEXT NOT NULL,
    inputs TEXT NOT NULL,
    outputs TEXT,
    status TEXT NOT NULL CHECK (status IN ('started', 'completed', 'failed', 'uncertain')),
    repeatable INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    said TEXT,
    started_ms INTEGER NOT NULL,
    duration_us INTEGER
) STRICT;
CREATE INDEX runs_by_obligation ON runs (obligation);

CREATE TABLE sources (
    id INTEGER PRIMARY KEY,
    request INTEGER NOT NULL REFERENCES requests (id),
    run INTEGER REFERENCES runs (id),
    kind TEXT NOT NULL CHECK (kind IN ('tool', 'user', 'conductor')),
    name TEXT NOT NULL
) STRICT;

CREATE TABLE assertions (
    id INTEGER PRIMARY KEY,
    request INTEGER NOT NULL REFERENCES requests (id),
    obligation INTEGER REFERENCES obligations (id),
    source INTEGER NOT NULL REFERENCES sources (id),
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    value TEXT NOT NULL,
    standing TEXT NOT NULL CHECK (standing IN ('held', 'rejected', 'verified', 'disputed')),
    because TEXT
) STRICT;
CREATE INDEX assertions_by_subject ON assertions (request, kind, subject);
CREATE INDEX assertions_by_obligation ON assertions (obligation);
CREATE INDEX assertions_by_kind ON assertions (kind, subject);
CREATE INDEX assertions_by_standing ON assertions (request, standing);

CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    request INTEGER NOT NULL REFERENCES requests (id),
    obligation INTEGER REFERENCES obligations (id),
    run INTEGER REFERENCES runs (id),
    kind TEXT NOT NULL,
    detail TEXT NOT NULL,
    at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX events_by_request ON events (request);

CREATE TRIGGER settled_obligations_stay BEFORE UPDATE OF status ON obligations
WHEN OLD.status <> 'active' OR NEW.status = 'active'
BEGIN SELECT RAISE(ABORT, 'a settled obligation cannot change its status'); END;

CREATE TRIGGER ended_runs_stay BEFORE UPDATE ON runs WHEN OLD.status <> 'started'
BEGIN SELECT RAISE(ABORT, 'a run that ended cannot change'); END;

CREATE TRIGGER obligations_are_never_lost BEFORE DELETE ON obligations
BEGIN SELECT RAISE(ABORT, 'an obligation cannot be deleted'); END;
";
