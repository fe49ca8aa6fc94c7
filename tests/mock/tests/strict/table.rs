//! A good request, and a row for each rule: how to break it and what is said then.

use agent_mock::{Format, Refusal, Strict};
use serde_json::Value;

/// A piece of the message, and the change that leads to it.
pub(crate) type Rule = (&'static str, fn(&mut Value));

/// Where requests are sent, and how they are looked at.
pub(crate) struct Table {
    pub(crate) format: Format,
    pub(crate) path: &'static str,
    pub(crate) strict: Strict,
}

impl Table {
    pub(crate) fn new(format: Format, path: &'static str) -> Table {
        Table { format, path, strict: Strict::new() }
    }

    pub(crate) fn strict(mut self, strict: Strict) -> Table {
        self.strict = strict;
        self
    }

    pub(crate) fn check(&self, body: &Value) -> Result<(), Refusal> {
        self.strict.check(self.format, self.path, None, body)
    }

    /// All of these pass.
    #[track_caller]
    pub(crate) fn takes(&self, good: &Value, changes: &[fn(&mut Value)]) {
        assert_eq!(self.check(good), Ok(()), "{good:#}");
        for change in changes {
            let mut body = good.clone();
            change(&mut body);
            assert_eq!(self.check(&body), Ok(()), "{body:#}");
        }
    }

    /// The good request passes, and with each change it is refused for its reason, with status 400.
    #[track_caller]
    pub(crate) fn refuses(&self, good: &Value, rules: &[Rule]) {
        assert_eq!(self.check(good), Ok(()), "{good:#}");
        for (message, change) in rules {
            let mut body = good.clone();
            change(&mut body);
            let refusal = self.check(&body).expect_err(message);
            assert!(refusal.message.contains(message), "expected: {message}\nsaid:     {}", refusal.message);
            assert_eq!(refusal.status, 400, "{message}");
            assert!(refusal.body.to_string().contains(&Value::from(refusal.message.as_str()).to_string()), "{}", refusal.body);
        }
    }
}

/// Takes a field away.
pub(crate) fn remove(object: &mut Value, name: &str) {
    object.as_object_mut().expect("an object").remove(name).expect("the field was there");
}

/// Adds to a list.
pub(crate) fn push(list: &mut Value, value: Value) {
    list.as_array_mut().expect("a list").push(value);
}

/// Takes the last of a list away.
pub(crate) fn pop(list: &mut Value) {
    list.as_array_mut().expect("a list").pop().expect("it had one");
}

/// One red dot.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
