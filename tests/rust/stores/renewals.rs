//! How leases are renewed: in which runtime, and what does not hold it up.

use agent_loop::ErrorKind;
use agent_loop::session::Store;
use tokio::runtime::{Builder, Runtime};

use crate::gated::Gated;
use crate::place::{opened, run, said};

/// A store whose leases are renewed often, and what it is made of.
fn renewed_often() -> (Store, Gated) {
    let gated = Gated::default();
    (Store::custom(gated.clone()).lease_ms(100).open().unwrap(), gated)
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Waits until the leases of these tokens are renewed, and no others with them.
async fn until_renewed(gated: &Gated, tokens: &[u64]) {
    gated
        .until(|method, renewed| {
            let mut renewed = renewed.to_vec();
            renewed.sort_unstable();
            method == "renew" && renewed == tokens
        })
        .await;
}

#[test]
fn found_the_leases_of_a_runtime_that_has_ended_are_renewed_in_another_one() {
    let (store, gated) = renewed_often();
    let (ends, stays) = (runtime(), runtime());
    let _first = ends.block_on(opened(&store, "s"));
    let _second = stays.block_on(opened(&store, "t"));
    stays.block_on(until_renewed(&gated, &[2]));
    drop(ends);
    stays.block_on(until_renewed(&gated, &[1, 2]));
    // Where there was no other one, the next that opens a session does it.
    drop(stays);
    let last = runtime();
    let _third = last.block_on(opened(&store, "u"));
    last.block_on(until_renewed(&gated, &[1, 2, 3]));
}

#[test]
fn found_a_runtime_that_stands_still_holds_up_its_own_leases_alone() {
    let (store, gated) = renewed_often();
    let stopped = Builder::new_current_thread().enable_all().build().unwrap();
    let _first = stopped.block_on(opened(&store, "s"));
    let goes_on = runtime();
    let _second = goes_on.block_on(opened(&store, "t"));
    goes_on.block_on(until_renewed(&gated, &[2]));
    goes_on.block_on(until_renewed(&gated, &[2]));
}

#[test]
fn found_a_store_that_does_not_say_who_has_a_session_holds_up_no_other_lease() {
    run(async {
        let (store, gated) = renewed_often();
        let (lost, _) = opened(&store, "s").await;
        let (kept, _) = opened(&store, "t").await;
        gated.shut("info");
        gated.take("s");
        until_renewed(&gated, &[2]).await;
        let error = lost.append(vec![said("late")]).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Busy && error.message().contains("has ended"), "{error}");
        kept.append(vec![said("a")]).await.unwrap();
    });
}

#[test]
fn found_a_session_that_is_opened_again_after_its_lease_has_ended_is_not_taken_for_the_one_before() {
    run(async {
        let (store, gated) = renewed_often();
        let (before, _) = opened(&store, "s").await;
        gated.end_lease("s");
        let (after, _) = opened(&store, "s").await;
        until_renewed(&gated, &[2]).await;
        until_renewed(&gated, &[2]).await;
        assert_eq!(before.append(vec![said("late")]).await.unwrap_err().kind(), ErrorKind::Busy);
        after.append(vec![said("a")]).await.unwrap();
    });
}
