//! The table's shape as numbered steps. A step is never edited once released: a binary reads
//! tables up to its own number and refuses newer ones that say they need a newer reader.

/// Steps in order; the table's `user_version` is how many have run.
pub const STEPS: &[&str] = &[
    "CREATE TABLE meta(k TEXT PRIMARY KEY, v TEXT NOT NULL) WITHOUT ROWID;
     INSERT INTO meta VALUES('reader', '1');
     CREATE TABLE process(
        pid TEXT PRIMARY KEY, parent TEXT, session TEXT NOT NULL, kind INTEGER NOT NULL,
        type TEXT, cwd TEXT, root TEXT, transcript TEXT,
        client_pid INTEGER, client_start INTEGER, vouched INTEGER NOT NULL DEFAULT 0,
        machine TEXT NOT NULL, boot TEXT NOT NULL, namespace INTEGER NOT NULL,
        state INTEGER NOT NULL, reason TEXT, heir TEXT, mode TEXT,
        started INTEGER NOT NULL, started_unix INTEGER NOT NULL, seen INTEGER NOT NULL,
        background INTEGER NOT NULL DEFAULT 0,
        denials INTEGER NOT NULL DEFAULT 0, last_denied TEXT, in_a_row INTEGER NOT NULL DEFAULT 0,
        last_call TEXT, waits_for TEXT
     ) WITHOUT ROWID;
     CREATE INDEX process_session ON process(session);
     CREATE TABLE lane(
        path TEXT PRIMARY KEY, root TEXT, holder TEXT NOT NULL,
        claimed INTEGER NOT NULL, written INTEGER,
        identity TEXT, call TEXT, family INTEGER NOT NULL DEFAULT 0
     ) WITHOUT ROWID;
     CREATE INDEX lane_root ON lane(root);
     CREATE INDEX lane_holder ON lane(holder);
     CREATE TABLE custody(
        path TEXT PRIMARY KEY, root TEXT, owner TEXT NOT NULL,
        since INTEGER NOT NULL, identity TEXT, family INTEGER NOT NULL DEFAULT 0
     ) WITHOUT ROWID;
     CREATE INDEX custody_root ON custody(root);
     CREATE INDEX custody_owner ON custody(owner);
     CREATE TABLE presence(
        root TEXT NOT NULL, session TEXT NOT NULL, since INTEGER NOT NULL,
        wrote INTEGER NOT NULL DEFAULT 0, forked TEXT,
        PRIMARY KEY(root, session)
     ) WITHOUT ROWID;
     CREATE INDEX presence_session ON presence(session);
     CREATE TABLE spawn(
        call TEXT PRIMARY KEY, session TEXT NOT NULL, spawner TEXT NOT NULL,
        at INTEGER NOT NULL, child TEXT
     ) WITHOUT ROWID;
     CREATE INDEX spawn_session ON spawn(session);
     CREATE TABLE call(
        id TEXT PRIMARY KEY, pid TEXT NOT NULL, at INTEGER NOT NULL,
        verdict TEXT, roots TEXT
     ) WITHOUT ROWID;
     CREATE INDEX call_pid ON call(pid);
     CREATE TABLE notice(id INTEGER PRIMARY KEY, pid TEXT NOT NULL, at INTEGER NOT NULL, text TEXT NOT NULL);
     CREATE INDEX notice_pid ON notice(pid);
     CREATE TABLE stash(common TEXT NOT NULL, sha TEXT NOT NULL, owner TEXT NOT NULL,
        PRIMARY KEY(common, sha)) WITHOUT ROWID;
     CREATE TABLE operation(git_dir TEXT PRIMARY KEY, name TEXT NOT NULL, owner TEXT NOT NULL) WITHOUT ROWID;
     CREATE TABLE commits(common TEXT NOT NULL, sha TEXT NOT NULL, owner TEXT NOT NULL, at INTEGER NOT NULL,
        PRIMARY KEY(common, sha)) WITHOUT ROWID;
     CREATE TABLE journal(pid TEXT PRIMARY KEY, seq INTEGER NOT NULL, seal TEXT NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;",
    "CREATE TABLE tree(path TEXT PRIMARY KEY, common TEXT NOT NULL, record TEXT NOT NULL) WITHOUT ROWID;
     CREATE INDEX tree_common ON tree(common);",
    "ALTER TABLE custody ADD COLUMN writer TEXT;",
    "ALTER TABLE process ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;",
    "ALTER TABLE journal ADD COLUMN kept INTEGER NOT NULL DEFAULT 1;",
];
