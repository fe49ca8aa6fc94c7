//! Events: one class for each row of the table, all of them [`Event`]s, with getters that convert when read.

use std::sync::Arc;

use agent_loop::host::events_of;
use agent_loop::{Event as CoreEvent, EventData, MessageUpdate as Update};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::Value;

use crate::block::match_args;
use crate::field::Field;
use crate::message::message;
use crate::{construct, json};

/// One event of a run.
#[pyclass(frozen, subclass, module = "agent_loop")]
pub(crate) struct Event(CoreEvent);

impl Event {
    pub(crate) fn core(&self) -> &CoreEvent {
        &self.0
    }
}

#[pymethods]
impl Event {
    #[new]
    #[pyo3(signature = (*_arguments, **_named), text_signature = None)]
    fn new(_arguments: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> PyResult<Event> {
        Err(PyTypeError::new_err("Event is the base of all events; make an event of its own class, for example TextDelta"))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Event>().is_ok_and(|other| other.get().0.to_json() == self.0.to_json())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        construct::reduced(py, "event", &(&self.0.run_id, self.0.seq, self.0.turn, &self.0.data))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    #[getter(r#type)]
    fn kind(&self) -> &'static str {
        self.0.kind()
    }

    #[getter]
    fn run_id(&self) -> &str {
        &self.0.run_id
    }

    #[getter]
    fn seq(&self) -> u64 {
        self.0.seq
    }

    #[getter]
    fn turn(&self) -> u32 {
        self.0.turn
    }

    fn partial<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let partial = self.0.partial().map(|partial| Arc::new(agent_loop::Message::Assistant(partial)));
        partial.map(|partial| message(py, &partial)).transpose()
    }

    fn partial_output<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.partial_output().map(|output| json::to_py(py, &output)).transpose()
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.0)
    }

    fn to_json(&self) -> String {
        self.0.to_json()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        json::repr(slf.py(), &slf.get_type().name()?.to_string(), &slf.get().0, &["type", "run_id"])
    }
}

/// A part of the assistant's message as it streams. `content_index` counts the blocks in the order they started.
#[pyclass(frozen, subclass, extends = Event, module = "agent_loop")]
pub(crate) struct MessageUpdate;

#[pymethods]
impl MessageUpdate {
    #[getter]
    fn content_index(slf: &Bound<'_, Self>) -> Option<u32> {
        match &slf.as_super().get().0.data {
            EventData::MessageUpdate(update) => Some(update.content_index()),
            // An object of this class is made for this variant only.
            _ => None,
        }
    }
}

/// The classes of a block of the table: a class for each row, with a getter for each field.
macro_rules! event_classes {
    (
        [$base:ident, $parts:ident, |$core:ident| $initializer:expr, $wrap:tt]
        $(
            $(#[doc = $doc:literal])* $variant:ident = $word:literal, $value:literal, $since:literal
            $([$($positional:ident),*] {
                $($(#[doc = $field_doc:literal])* $(@$optional:ident)? $field:ident: $type:ty $(as $exact:ident)?
                $(= $field_since:literal)?,)*
            })? $(;)?
        )+
    ) => {
        $(
            $(#[doc = $doc])*
            #[pyclass(frozen, extends = $base, module = "agent_loop")]
            pub(crate) struct $variant;

            #[pymethods]
            impl $variant {
                #[new]
                #[pyo3(signature = (*arguments, **named), text_signature = None)]
                fn new(
                    arguments: &Bound<'_, PyTuple>,
                    named: Option<&Bound<'_, PyDict>>,
                ) -> PyResult<PyClassInitializer<$variant>> {
                    let known: &[(&str, bool)] =
                        &[$($((stringify!($field), event_classes!(@needed $($optional)?)),)*)?];
                    let is_update = event_classes!(@is_update $wrap);
                    let positional: &[&str] = &[$($(stringify!($positional)),*)?];
                    let $core = made(stringify!($variant), is_update, positional, known, arguments, named)?;
                    Ok($initializer.add_subclass($variant))
                }

                #[classattr]
                fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
                    match_args(py, &[$($(stringify!($positional)),*)?])
                }

                $($(
                    #[getter]
                    fn $field<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                        let py = slf.py();
                        match &slf.cast::<Event>()?.get().0.data {
                            event_classes!(@pattern $wrap $variant $field) => $field.to_python(py),
                            // An object of this class is made for this variant only.
                            _ => Ok(py.None().into_bound(py)),
                        }
                    }
                )*)?
            }
        )+

        /// An event of these as an object of its class; any other one as an `Event`.
        fn $parts(py: Python<'_>, $core: CoreEvent) -> PyResult<Py<PyAny>> {
            match &$core.data {
                $(event_classes!(@any $wrap $variant) => {
                    Ok(Py::new(py, $initializer.add_subclass($variant))?.into_any())
                })+
                _ => Ok(Py::new(py, Event($core))?.into_any()),
            }
        }
    };
    (@is_update update) => { true };
    (@is_update other) => { false };
    (@needed) => { true };
    (@needed optional) => { false };
    (@pattern update $variant:ident $field:ident) => { EventData::MessageUpdate(Update::$variant { $field, .. }) };
    (@pattern other $variant:ident $field:ident) => { EventData::$variant { $field, .. } };
    (@any update $variant:ident) => { EventData::MessageUpdate(Update::$variant { .. }) };
    (@any other $variant:ident) => { EventData::$variant { .. } };
}

events_of!(other, event_classes [Event, other_event, |core| PyClassInitializer::from(Event(core)), other]);
events_of!(
    update,
    event_classes
    [MessageUpdate, message_update, |core| PyClassInitializer::from(Event(core)).add_subclass(MessageUpdate), update]
);

/// An event that is made from its fields: `run_id`, `seq` and `turn` may be left out.
fn made(
    class: &str,
    is_update: bool,
    positional: &[&str],
    known: &[(&str, bool)],
    arguments: &Bound<'_, PyTuple>,
    named: Option<&Bound<'_, PyDict>>,
) -> PyResult<CoreEvent> {
    let py = arguments.py();
    let mut fields = construct::fields(class, positional, arguments, named)?;
    let mut all = vec![("run_id", false), ("seq", false), ("turn", false)];
    all.extend(is_update.then_some(("content_index", true)));
    all.extend(known);
    construct::check(py, class, &fields, &all)?;
    let mut take = |name: &str, default: Value| fields.remove(name).unwrap_or(default);
    let head = [take("run_id", "run".into()), take("seq", 0.into()), take("turn", 1.into())];
    let (run_id, seq, turn): (Arc<str>, u64, u32) = construct::data(py, class, Value::from(head.to_vec()))?;
    // In the form that its own crate reads, by the names of variants, which are those of the classes.
    let data = if known.is_empty() && !is_update { Value::from(class) } else { serde_json::json!({ class: fields }) };
    let data = if is_update { serde_json::json!({ "MessageUpdate": data }) } else { data };
    Ok(CoreEvent::new(run_id, seq, turn, construct::data(py, class, data)?, None))
}

/// The event as an object of the class of its type.
pub(crate) fn event(py: Python<'_>, core: CoreEvent) -> PyResult<Py<PyAny>> {
    match &core.data {
        EventData::MessageUpdate(_) => message_update(py, core),
        _ => other_event(py, core),
    }
}

macro_rules! add_rows {
    (
        [$module:ident]
        $(
            $(#[doc = $doc:literal])* $variant:ident = $word:literal, $value:literal, $since:literal
            $([$($positional:ident),*] { $($fields:tt)* })? $(;)?
        )+
    ) => {
        $($module.add_class::<$variant>()?;)+
    };
}

/// Adds the classes of all events to the module.
pub(crate) fn add_classes(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Event>()?;
    module.add_class::<MessageUpdate>()?;
    events_of!(other, add_rows[module]);
    events_of!(update, add_rows[module]);
    Ok(())
}
