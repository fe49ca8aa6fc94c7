//! What the connection writes of leases: they are given, renewed and taken back.

use rusqlite::{Connection, OptionalExtension, params};

use super::file::{Database, signed};
use crate::error::Error;
use crate::session::backend::{Acquire, HeldLease, Holding, Lease};
use crate::session::clock::now_ms;
use crate::session::errors::held;

/// The pages that giving or taking back a lease writes, at least: those of the session and the index of times.
pub(super) const LEASE_PAGES: usize = 2;
/// The bits of a token that count a session's leases; those above are of the session.
const TOKEN_BITS: u32 = 24;

/// A session to which this store may append.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    pub(super) number: i64,
    pub(super) token: u64,
    /// When `updated_ms` was last written.
    pub(super) touched_ms: u64,
    /// The number of the last record that was written here.
    pub(super) last: u64,
    /// The version of the file by which the lease was last checked: it changes with what other connections write.
    pub(super) checked: Option<i64>,
}

/// Prolongs leases. Returns those that another holder has taken.
pub(super) fn renew(connection: &Connection, leases: Vec<HeldLease>, lease_ms: u64) -> rusqlite::Result<Vec<String>> {
    let expires_ms = signed(now_ms().saturating_add(lease_ms));
    let mut update = connection.prepare_cached("UPDATE sessions SET expires_ms = ?3 WHERE id = ?1 AND token = ?2")?;
    let mut lost = Vec::new();
    for lease in leases {
        if update.execute(params![lease.id, signed(lease.token), expires_ms])? == 0 {
            lost.push(lease.id);
        }
    }
    Ok(lost)
}

/// Takes the lease on a session, which is created if there is none, or says who has it.
pub(super) fn acquire(
    connection: &Connection,
    database: &Database,
    request: &Acquire,
    instance: &str,
) -> rusqlite::Result<Result<(Lease, Open), Error>> {
    let found = connection
        .prepare_cached("SELECT number, token, holder, instance, expires_ms, last FROM sessions WHERE id = ?1")?
        .query_row([&request.id], |row| {
            let lease = Holding {
                token: unsigned(row.get(1)?),
                holder: row.get(2)?,
                instance: row.get(3)?,
                expires_ms: unsigned(row.get(4)?),
                last: unsigned(row.get(5)?),
            };
            Ok((row.get::<_, i64>(0)?, lease))
        })
        .optional()?;
    let is_new = found.is_none();
    let (number, before) = match found {
        Some((_, lease)) if lease.left_ms() > 0 && !database.alive.has_ended(&lease.instance) => {
            return Ok(Err(held(&request.id, &lease.holder, lease.left_ms())));
        }
        Some((number, lease)) => (number, lease),
        None => {
            let mut insert =
                connection.prepare_cached("INSERT INTO sessions (id, created_ms, updated_ms) VALUES (?1, ?2, ?2)")?;
            let number = insert.insert(params![request.id, signed(now_ms())])?;
            // A deleted session's tokens are those of no other of the same id.
            (number, Holding { token: unsigned(number) << TOKEN_BITS, ..Holding::default() })
        }
    };
    let Holding { token, holder, instance, expires_ms, last } = before.next(request, instance);
    connection
        .prepare_cached("UPDATE sessions SET token = ?2, holder = ?3, instance = ?4, expires_ms = ?5 WHERE number = ?1")?
        .execute(params![number, signed(token), holder, instance, signed(expires_ms)])?;
    // The time of a new session is that of its row.
    let touched_ms = if is_new { now_ms() } else { 0 };
    Ok(Ok((Lease { token, torn: 0, last, is_new }, Open { number, token, touched_ms, last, checked: None })))
}

/// Gives a lease back, of a session that has at least so many records.
pub(super) fn release(connection: &Connection, lease: &HeldLease, last: u64) -> rusqlite::Result<()> {
    let text = "UPDATE sessions SET holder = '', instance = '', expires_ms = 0, updated_ms = ?3, last = max(last, ?4) \
                WHERE id = ?1 AND token = ?2";
    let mut update = connection.prepare_cached(text)?;
    update.execute(params![lease.id, signed(lease.token), signed(now_ms()), signed(last)]).map(drop)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
