//! The statements. Each is one transaction. Times are the server's, in milliseconds since the epoch.

/// Whether the tables are there: a user who may not make any can use them.
pub(super) const HAS_TABLES: &str = "SELECT to_regclass('agent_loop_records') IS NOT NULL";

/// Makes the tables. The lock is for those who do so at the same time.
pub(super) const TABLES: &str = "
    SELECT pg_advisory_xact_lock(7023117452012347);
    CREATE TABLE IF NOT EXISTS agent_loop_version (version integer NOT NULL);
    INSERT INTO agent_loop_version SELECT 1 WHERE NOT EXISTS (SELECT FROM agent_loop_version);
    CREATE SEQUENCE IF NOT EXISTS agent_loop_tokens;
    CREATE TABLE IF NOT EXISTS agent_loop_sessions (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text NOT NULL UNIQUE,
        created_ms bigint NOT NULL,
        updated_ms bigint NOT NULL,
        title text,
        metadata text,
        fields jsonb NOT NULL DEFAULT '{}',
        token bigint NOT NULL DEFAULT 0,
        holder text NOT NULL DEFAULT '',
        expires_ms bigint NOT NULL DEFAULT 0,
        followed_ms bigint NOT NULL DEFAULT 0,
        last bigint NOT NULL DEFAULT 0
    );
    CREATE INDEX IF NOT EXISTS agent_loop_sessions_by_time ON agent_loop_sessions (updated_ms DESC, id COLLATE \"C\");
    CREATE INDEX IF NOT EXISTS agent_loop_sessions_by_field ON agent_loop_sessions USING gin (fields jsonb_path_ops);
    CREATE TABLE IF NOT EXISTS agent_loop_records (
        session bigint NOT NULL,
        seq bigint NOT NULL,
        line text NOT NULL,
        PRIMARY KEY (session, seq)
    );
    CREATE OR REPLACE FUNCTION agent_loop_now() RETURNS bigint LANGUAGE sql VOLATILE AS
        'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';
";

pub(super) const VERSION: &str = "SELECT max(version) FROM agent_loop_version";

pub(super) const CREATE: &str = "
    INSERT INTO agent_loop_sessions (id, created_ms, updated_ms) VALUES ($1, agent_loop_now(), agent_loop_now())
    ON CONFLICT (id) DO NOTHING";

/// Tokens are never used again, not for another session of the same id either.
pub(super) const ACQUIRE: &str = "
    UPDATE agent_loop_sessions
    SET token = nextval('agent_loop_tokens'), holder = $2, expires_ms = agent_loop_now() + $3
    WHERE id = $1 AND (holder = '' OR expires_ms <= agent_loop_now())
    RETURNING token, last";

pub(super) const HELD: &str = "
    SELECT holder, expires_ms - agent_loop_now() FROM agent_loop_sessions
    WHERE id = $1 AND holder <> '' AND expires_ms > agent_loop_now()";

pub(super) const RENEW: &str = "
    UPDATE agent_loop_sessions AS session SET expires_ms = agent_loop_now() + $3
    FROM unnest($1::text[], $2::bigint[]) AS lease (id, token)
    WHERE session.id = lease.id AND session.token = lease.token
    RETURNING session.id";

pub(super) const RELEASE: &str = "
    UPDATE agent_loop_sessions AS session SET holder = '', expires_ms = 0, updated_ms = agent_loop_now(),
        last = greatest(last, (SELECT max(seq) FROM agent_loop_records AS record WHERE record.session = session.number))
    WHERE id = $1 AND token = $2";

/// The row is locked until the lines are there: who takes the session waits for them, and whoever comes later finds another
/// token.
/// Returns the session's number, and whether a follower waits for it. `updated_ms` is written once in a second: each
/// time the row is, the table grows.
pub(super) const APPEND: &str = "
    WITH held AS MATERIALIZED (
        SELECT number, followed_ms FROM agent_loop_sessions WHERE id = $1 AND token = $2 FOR SHARE
    ), added AS (
        INSERT INTO agent_loop_records (session, seq, line)
        SELECT held.number, $3 + at - 1, line FROM held, unnest($4::text[]) WITH ORDINALITY AS given (line, at)
    ), touched AS (
        UPDATE agent_loop_sessions AS session SET updated_ms = agent_loop_now(), last = $3 + cardinality($4::text[]) - 1 FROM held
        WHERE session.number = held.number AND session.updated_ms < agent_loop_now() - 1000
    )
    SELECT number, followed_ms > agent_loop_now() FROM held";

pub(super) const NOTIFY: &str = "SELECT pg_notify('agent_loop', $1)";

/// Whoever follows is notified for a minute from now.
pub(super) const FOLLOW: &str = "
    WITH session AS (SELECT number, followed_ms FROM agent_loop_sessions WHERE id = $1),
    followed AS (
        UPDATE agent_loop_sessions SET followed_ms = agent_loop_now() + 60000
        WHERE id = $1 AND followed_ms < agent_loop_now() + 30000
    )
    SELECT number FROM session";

/// One row without a line where there are no more; none if there is no such session.
pub(super) const READ: &str = "
    SELECT session.last, found.seq, found.line FROM agent_loop_sessions AS session
    LEFT JOIN LATERAL (
        SELECT seq, line FROM agent_loop_records AS record
        WHERE record.session = session.number AND seq > $2
        ORDER BY seq LIMIT $3
    ) AS found ON true
    WHERE session.id = $1 ORDER BY found.seq";

pub(super) const INFO: &str = "
    SELECT id, title, metadata, created_ms, updated_ms,
        CASE WHEN holder <> '' AND expires_ms > agent_loop_now() THEN holder END
    FROM agent_loop_sessions WHERE id = $1";

pub(super) const SET_INFO: &str = "
    UPDATE agent_loop_sessions SET title = $3, metadata = $4, fields = $5::text::jsonb
    WHERE id = $1 AND token = $2 RETURNING number";

pub(super) const LIST: &str = "
    SELECT id, title, metadata, created_ms, updated_ms,
        CASE WHEN holder <> '' AND expires_ms > agent_loop_now() THEN holder END
    FROM agent_loop_sessions
    WHERE (updated_ms < $1 OR (updated_ms = $1 AND id COLLATE \"C\" > $2)) AND updated_ms >= $3 AND updated_ms < $4
        AND fields @> $5::text::jsonb
    ORDER BY updated_ms DESC, id COLLATE \"C\" LIMIT $6";

pub(super) const DELETE: &str = "
    WITH gone AS (DELETE FROM agent_loop_sessions WHERE id = $1 AND token = $2 RETURNING number),
    records AS (DELETE FROM agent_loop_records USING gone WHERE session = gone.number)
    SELECT number FROM gone";
