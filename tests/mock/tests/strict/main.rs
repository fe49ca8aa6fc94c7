//! The strict checks: what passes and what each rule refuses.

mod recorded;
