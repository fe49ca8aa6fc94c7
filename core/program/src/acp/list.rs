//! `session/list`: the stored sessions, those that the terminal has left out, as they have no folder.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{ListSessionsRequest, ListSessionsResponse, SessionInfo};
use agent_loop::session::ListQuery;
use serde_json::Value;

use super::errors;
use super::session::CWD;
use super::sessions::Sessions;

/// How many sessions a page has.
const PAGE: usize = 100;

pub(super) async fn page(sessions: &Sessions, request: ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
    let mut query = ListQuery::default().limit(PAGE);
    if let Some(cwd) = request.cwd {
        query = query.with(CWD, cwd.to_string_lossy());
    }
    if let Some(cursor) = request.cursor {
        query = query.after(cursor);
    }
    let page = sessions.store()?.list(query).await.map_err(|error| errors::of(&error))?;
    let listed = page.sessions.into_iter().filter_map(|stored| {
        let cwd = stored.metadata.as_ref()?.get(CWD).and_then(Value::as_str)?.to_owned();
        Some(SessionInfo::new(stored.id, cwd).title(stored.title).updated_at(time(stored.updated_ms)))
    });
    Ok(ListSessionsResponse::new(listed.collect()).next_cursor(page.next))
}

/// A time in milliseconds since the epoch, as ISO 8601 has it.
fn time(ms: u64) -> String {
    let (days, seconds) = (ms / 86_400_000, ms / 1_000 % 86_400);
    // Years that begin in March end with the day that some have and others do not, so that all months before it are alike.
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        assert_eq!(time(0), "1970-01-01T00:00:00Z");
        assert_eq!(time(951_782_399_999), "2000-02-28T23:59:59Z");
        assert_eq!(time(951_782_400_000), "2000-02-29T00:00:00Z");
        assert_eq!(time(1_735_689_599_000), "2024-12-31T23:59:59Z");
        assert_eq!(time(1_772_323_200_000), "2026-03-01T00:00:00Z");
    }
}
