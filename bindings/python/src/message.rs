//! Messages: frozen, shared with the engine, converted when read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_loop::host::Unread;
use agent_loop::{Agent as CoreAgent, ContentBlock as CoreBlock, Message as CoreMessage};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::block::{block, blocks, match_args};
use crate::usage::Usage;
use crate::{argument, construct, error, json};

/// One message of a conversation: a `UserMessage`, `AssistantMessage`, `ToolResultMessage` or `CustomMessage`.
#[pyclass(frozen, subclass, module = "agent_loop")]
pub(crate) struct Message {
    pub(crate) core: Arc<CoreMessage>,
    /// Made when first read.
    content: PyOnceLock<Py<PyTuple>>,
}

#[pymethods]
impl Message {
    #[new]
    #[pyo3(signature = (*_arguments, **_named), text_signature = None)]
    fn new(_arguments: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> PyResult<Message> {
        Err(PyTypeError::new_err(
            "Message is the base of all messages; make a UserMessage, AssistantMessage, ToolResultMessage or CustomMessage",
        ))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        construct::reduced(py, "message", &self.core)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    #[getter]
    fn role(&self) -> &str {
        self.core.role()
    }

    #[getter]
    fn text(&self) -> String {
        self.core.text()
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.core)
    }

    fn to_json(&self) -> PyResult<String> {
        json::to_text(&self.core)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Message>().is_ok_and(|other| other.get().core == self.core)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        json::repr(slf.py(), &slf.get_type().name()?.to_string(), &slf.get().core, &["role"])
    }
}

/// A message of the class of its role.
pub(crate) fn message<'py>(py: Python<'py>, core: &Arc<CoreMessage>) -> PyResult<Bound<'py, PyAny>> {
    let base = PyClassInitializer::from(Message { core: Arc::clone(core), content: PyOnceLock::new() });
    Ok(match &**core {
        CoreMessage::User(_) => Bound::new(py, base.add_subclass(UserMessage))?.into_any(),
        CoreMessage::Assistant(_) => Bound::new(py, base.add_subclass(AssistantMessage))?.into_any(),
        CoreMessage::ToolResult(_) => Bound::new(py, base.add_subclass(ToolResultMessage))?.into_any(),
        CoreMessage::Custom(_) => Bound::new(py, base.add_subclass(CustomMessage))?.into_any(),
    })
}

/// Several messages, as a tuple.
pub(crate) fn messages<'py>(py: Python<'py>, core: &[Arc<CoreMessage>]) -> PyResult<Bound<'py, PyTuple>> {
    let all = core.iter().map(|one| message(py, one)).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, all)
}

/// An agent's transcript as it was last read.
#[derive(Default)]
pub(crate) struct Transcript(Mutex<Option<Known>>);

/// The revision of a transcript, and its messages.
type Known = ((u64, usize), Py<PyTuple>);

impl Transcript {
    /// The agent's messages: the same tuple until they change, and then with the same objects for those that are as before.
    pub(crate) fn of<'py>(&self, py: Python<'py>, agent: &CoreAgent) -> PyResult<Bound<'py, PyTuple>> {
        let (revision, core) = agent.transcript();
        let before = match &*self.lock() {
            Some((known, messages)) if *known == revision => return Ok(messages.bind(py).clone()),
            Some((_, messages)) => messages.bind(py).clone(),
            None => PyTuple::empty(py),
        };
        let of = |(i, core): (usize, &Arc<CoreMessage>)| match before.get_item(i).ok().filter(|known| is_of(known, core)) {
            Some(known) => Ok(known),
            None => message(py, core),
        };
        // Not under the lock: an object that is made may start the garbage collector, and with it code that reads the messages.
        let messages = PyTuple::new(py, core.iter().enumerate().map(of).collect::<PyResult<Vec<_>>>()?)?;
        let before = self.lock().replace((revision, messages.clone().unbind()));
        drop(before);
        Ok(messages)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_of(message: &Bound<'_, PyAny>, core: &Arc<CoreMessage>) -> bool {
    message.cast::<Message>().is_ok_and(|message| Arc::ptr_eq(&message.get().core, core))
}

/// Messages from Python: our own as they are, shared, and others as JSON. `what` names the list in errors.
pub(crate) fn from_py(list: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<Arc<CoreMessage>>> {
    let read = |(i, item): (usize, Bound<'_, PyAny>)| one_from_py(&item, &format!("{what}[{i}]"));
    items_of(list, what)?.iter().enumerate().map(read).collect()
}

/// As [`from_py`], for messages of a stored history: what is not known in them is kept in their metadata.
pub(crate) fn stored_from_py(list: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<Arc<CoreMessage>>> {
    let read = |(i, item): (usize, Bound<'_, PyAny>)| {
        let what = format!("{what}[{i}]");
        if let Ok(message) = item.cast::<Message>() {
            return Ok(Arc::clone(&message.get().core));
        }
        let read = CoreMessage::deserialize(&json::from_py(&item, &what)?).map(Arc::new);
        read.map_err(|why| error::raised(item.py(), agent_loop::Error::invalid_argument(format!("{what}: {why}"))))
    };
    items_of(list, what)?.iter().enumerate().map(read).collect()
}

/// The items of a list or tuple; of a list a copy, which other code cannot change meanwhile.
fn items_of<'py>(list: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyTuple>> {
    let Ok(items) = list.cast::<PyList>().map(PyListMethods::to_tuple).or_else(|_| list.cast::<PyTuple>().cloned()) else {
        let kind = list.get_type().name()?;
        return Err(PyTypeError::new_err(format!("{what}: expected a list of messages, got {kind}")));
    };
    Ok(items)
}

/// A message from Python.
pub(crate) fn one_from_py(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Arc<CoreMessage>> {
    if let Ok(message) = value.cast::<Message>() {
        return Ok(Arc::clone(&message.get().core));
    }
    let wrong = |unread: Unread| error::raised(value.py(), unread.at(what).invalid_argument());
    CoreMessage::given(json::from_py(value, what)?).map(Arc::new).map_err(wrong)
}

/// A class of messages with a getter for each of its fields.
macro_rules! message_class {
    (
        $(#[$doc:meta])*
        $name:ident is $variant:ident $role:literal [$($position:literal),*]
        { $($field:ident: |$py:ident, $core:ident| $value:expr,)* }
    ) => {
        $(#[$doc])*
        #[pyclass(frozen, extends = Message, module = "agent_loop")]
        pub(crate) struct $name;

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (*arguments, **named), text_signature = None)]
            fn new(arguments: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyDict>>) -> PyResult<PyClassInitializer<$name>> {
                let fields = construct::fields(stringify!($name), &[$($position),*], arguments, named)?;
                Ok(made(arguments.py(), stringify!($name), $role, fields)?.add_subclass($name))
            }

            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
                match_args(py, &[$($position),*])
            }

            #[getter]
            fn content<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
                let base = slf.as_super().get();
                let content = base.content.get_or_try_init(slf.py(), || match &*base.core {
                    CoreMessage::$variant(core) => blocks(slf.py(), &core.content).map(Bound::unbind),
                    _ => blocks(slf.py(), &[]).map(Bound::unbind),
                })?;
                Ok(content.bind(slf.py()).clone())
            }

            #[getter]
            fn timestamp(slf: &Bound<'_, Self>) -> u64 {
                match &*slf.as_super().get().core {
                    CoreMessage::$variant(core) => core.timestamp,
                    _ => 0,
                }
            }

            #[getter]
            fn id(slf: &Bound<'_, Self>) -> Option<String> {
                slf.as_super().get().core.id().map(str::to_owned)
            }

            #[getter]
            fn metadata<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
                slf.as_super().get().core.metadata().map(|metadata| json::to_py(slf.py(), metadata)).transpose()
            }

            $(
                #[getter]
                fn $field<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                    let $py = slf.py();
                    match &*slf.as_super().get().core {
                        CoreMessage::$variant($core) => IntoPyObjectExt::into_bound_py_any($value, $py),
                        // An object of this class is made for this variant only.
                        _ => Ok($py.None().into_bound($py)),
                    }
                }
            )*
        }
    };
}

message_class! {
    /// The user's text and files.
    UserMessage is User "user" ["content"] {}
}

message_class! {
    /// The model's text, thinking and tool calls.
    AssistantMessage is Assistant "assistant" ["content"] {
        provider: |py, core| &core.provider,
        protocol: |py, core| &core.protocol,
        model: |py, core| &core.model,
        usage: |py, core| Usage(core.usage.clone()),
        stop_reason: |py, core| core.stop_reason.map(agent_loop::StopReason::as_str),
        raw_stop_reason: |py, core| core.raw_stop_reason.as_deref(),
        response_id: |py, core| core.response_id.as_deref(),
        response_model: |py, core| core.response_model.as_deref(),
        error: |py, core| core.error.as_ref().map(|error| error::object(py, error)).transpose()?,
        tool_calls: |py, core| tool_calls(py, core)?,
    }
}

message_class! {
    /// The result of a tool call.
    ToolResultMessage is ToolResult "tool_result" ["tool_name", "content", "is_error"] {
        tool_call_id: |py, core| &core.tool_call_id,
        tool_name: |py, core| &core.tool_name,
        details: |py, core| json::to_py(py, &core.details)?,
        is_error: |py, core| core.is_error,
    }
}

/// An application's own message: kept in the transcript, never sent to a model unless `convert_to_llm` converts it.
#[pyclass(frozen, extends = Message, module = "agent_loop")]
pub(crate) struct CustomMessage;

#[pymethods]
impl CustomMessage {
    #[new]
    #[pyo3(signature = (role, **named), text_signature = None)]
    fn new(
        py: Python<'_>,
        role: &Bound<'_, PyAny>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<CustomMessage>> {
        let role = argument::text(role, "CustomMessage: role")?;
        if let Some(class) = STANDARD.iter().find_map(|(standard, class)| (*standard == role).then_some(class)) {
            let text = format!("CustomMessage: the role {:?} is not a custom one; make a {class}", role);
            return Err(error::raised(py, agent_loop::Error::invalid_argument(text)));
        }
        let fields = construct::fields("CustomMessage", &[], &PyTuple::empty(py), named)?;
        Ok(made(py, "CustomMessage", &role, fields)?.add_subclass(CustomMessage))
    }

    #[getter]
    fn data<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(slf.py(), &slf.as_super().get().core)
    }

    /// A field of the message; Python asks for it where the class has no such attribute.
    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let base = slf.as_super().get();
        let field = if let CoreMessage::Custom(fields) = &*base.core { fields.get(name) } else { None };
        let Some(value) = field else {
            let role = base.core.role();
            return Err(PyAttributeError::new_err(format!("this message of the role {role:?} has no field {name:?}")));
        };
        json::to_py(slf.py(), value)
    }
}

/// The roles that are not custom, with the classes of their messages.
const STANDARD: [(&str, &str); 3] =
    [("user", "UserMessage"), ("assistant", "AssistantMessage"), ("tool_result", "ToolResultMessage")];

/// The base of a message that is made from its fields.
fn made(py: Python<'_>, class: &str, role: &str, fields: Map<String, Value>) -> PyResult<PyClassInitializer<Message>> {
    let mut map = Map::from_iter([("role".to_owned(), Value::from(role))]);
    map.extend(fields);
    let wrong = |unread: Unread| error::raised(py, unread.at(class).invalid_argument());
    let core = CoreMessage::given(Value::Object(map)).map_err(wrong)?;
    Ok(PyClassInitializer::from(Message { core: Arc::new(core), content: PyOnceLock::new() }))
}

fn tool_calls<'py>(py: Python<'py>, message: &agent_loop::AssistantMessage) -> PyResult<Bound<'py, PyTuple>> {
    let calls = message.content.iter().filter(|block| matches!(block, CoreBlock::ToolCall(_)));
    PyTuple::new(py, calls.map(|one| block(py, one)).collect::<PyResult<Vec<_>>>()?)
}
