//! Events: one class for each row of the table, all of them [`Event`]s, with getters that convert when read.

use std::sync::Arc;

use agent_loop::host::events_of;
use agent_loop::{Event as CoreEvent, EventData, MessageUpdate as Update};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::block::match_args;
use crate::field::Field;
use crate::json;
use crate::message::message;

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
