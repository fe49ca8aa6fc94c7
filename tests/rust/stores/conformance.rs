//! What each store has to do.

#[path = "conformance/leases.rs"]
mod leases;
#[path = "conformance/records.rs"]
mod records;
#[path = "conformance/sessions.rs"]
mod sessions;

use self::leases::*;
use self::records::*;
use self::sessions::*;
use crate::place::{Kind, Place};

/// Plays each function with each kind of store.
macro_rules! with_each_store {
    ($($test:ident)+) => {
        mod memory { $(#[test] fn $test() { super::$test(super::Place::new(super::Kind::Memory)); })+ }
        mod sqlite { $(#[test] fn $test() { super::$test(super::Place::new(super::Kind::Sqlite)); })+ }
        mod jsonl { $(#[test] fn $test() { super::$test(super::Place::new(super::Kind::Jsonl)); })+ }
        #[cfg(feature = "postgres")]
        mod postgres {
            $(
                #[test]
                #[ignore = "make test-servers starts the server"]
                fn $test() { super::$test(super::Place::new(super::Kind::Postgres)); }
            )+
        }
    };
}

with_each_store! {
    what_was_appended_is_there_when_it_is_opened_again
    each_sync_mode_keeps_all
    records_keep_the_order_of_the_calls
    records_keep_the_order_of_a_lock_under_which_they_are_appended
    a_session_is_written_from_many_threads
    an_append_ends_though_the_runtime_has
    a_session_has_one_writer
    a_lease_that_has_ended_can_be_taken_and_the_late_writer_is_refused
    a_lease_is_renewed_while_the_session_is_open
    a_session_that_is_opened_again_outlives_its_closed_handle
    a_session_that_is_dropped_is_closed
    many_sessions_are_written_at_the_same_time
    a_list_has_pages_times_and_metadata
    a_fork_has_its_own_future
    an_export_is_imported_elsewhere
    a_deleted_session_is_gone
    a_follower_sees_each_record_once
    a_wrong_id_is_refused
    odd_ids_are_kept_apart
}
