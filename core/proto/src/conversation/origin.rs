//! What the idempotency keys of a conversation's tool calls begin with.

/// The origin of a conversation: the same in all of its runs.
#[derive(Debug, Default)]
pub(super) struct Origin {
    /// Empty until the first run.
    current: String,
    /// The option `origin` as a run has last had it, or an imported origin. A conversation that begins after a reset would make
    /// the same keys again for other calls, and a service would take those for repetitions: it does not use this one.
    spent: String,
    /// Whether it is that of a session, which no option and no reset changes: the keys of a session count the messages that were
    /// replaced.
    is_of_session: bool,
}

impl Origin {
    /// That of all runs of a session: its id.
    pub(super) fn of_session(id: impl Into<String>) -> Origin {
        Origin { current: id.into(), spent: String::new(), is_of_session: true }
    }

    /// That of a run, with the option `origin` or, if this is empty or spent, the run's id for a conversation that begins.
    pub(super) fn of_run(&mut self, option: &str, run_id: &str) -> String {
        if self.current.is_empty() {
            let is_new = !option.is_empty() && option != self.spent;
            (if is_new { option } else { run_id }).clone_into(&mut self.current);
        }
        if !option.is_empty() {
            option.clone_into(&mut self.spent);
        }
        self.current.clone()
    }

    /// Another conversation begins.
    pub(super) fn clear(&mut self) {
        if !self.is_of_session {
            self.current.clear();
        }
    }

    /// Goes on with that of an export.
    pub(super) fn import(&mut self, origin: String) {
        if !self.is_of_session {
            self.spent.clone_from(&origin);
            self.current = origin;
        }
    }

    /// The origin, for an export.
    pub(super) fn current(&self) -> &str {
        &self.current
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runs_of_a_conversation_have_one_origin() {
        let mut origin = Origin::default();
        assert_eq!(origin.of_run("", "run_1"), "run_1");
        assert_eq!(origin.of_run("", "run_2"), "run_1");
        assert_eq!(origin.of_run("late", "run_3"), "run_1");
        let mut origin = Origin::default();
        assert_eq!(origin.of_run("given", "run_1"), "given");
        assert_eq!(origin.of_run("", "run_2"), "given");
    }

    #[test]
    fn an_origin_is_not_used_again_for_another_conversation() {
        let mut origin = Origin::default();
        let mut begin_another = |option, run_id| {
            origin.clear();
            origin.of_run(option, run_id)
        };
        assert_eq!(begin_another("a", "run_1"), "a");
        assert_eq!(begin_another("a", "run_2"), "run_2");
        assert_eq!(begin_another("a", "run_3"), "run_3");
        assert_eq!(begin_another("", "run_4"), "run_4");
        assert_eq!(begin_another("a", "run_5"), "run_5");
        assert_eq!(begin_another("b", "run_6"), "b");
    }

    #[test]
    fn a_session_keeps_its_origin() {
        let mut origin = Origin::of_session("user-7");
        assert_eq!(origin.of_run("given", "run_1"), "user-7");
        origin.clear();
        assert_eq!(origin.of_run("", "run_2"), "user-7");
        origin.import("before".to_owned());
        assert_eq!(origin.of_run("before", "run_3"), "user-7");
    }

    #[test]
    fn an_export_keeps_its_origin_and_spends_it() {
        let mut origin = Origin::default();
        origin.import("before".to_owned());
        assert_eq!(origin.current(), "before");
        assert_eq!(origin.of_run("", "run_1"), "before");
        origin.clear();
        assert_eq!(origin.of_run("before", "run_2"), "run_2");
        // An export from before the first run has none.
        origin.import(String::new());
        assert_eq!(origin.of_run("given", "run_3"), "given");
    }
}
