//! Events as C reads them: a delta needs no JSON and no allocation; everything else is computed on request.

mod fields;
pub mod kind;

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use agent_loop::{Event, EventData, Message};

use crate::error::agent_error_t;
use crate::guard;
use crate::handle::take_back;
use crate::run::result::{AGENT_OUTCOME_NONE, outcome_of};
use crate::text::{Text, borrowed};
use crate::usage;

/// An event, and what C has borrowed from it.
pub struct agent_event_t {
    event: Event,
    /// A delta's text, in memory that the next event reuses.
    delta: Text,
    /// Everything else, computed on request.
    computed: OnceLock<Box<Computed>>,
}

/// What C has borrowed from an event. A missing text is kept as `None`.
#[derive(Default)]
struct Computed {
    run_id: OnceLock<Text>,
    text: OnceLock<Option<Text>>,
    role: OnceLock<Text>,
    message: OnceLock<Text>,
    stop_reason: OnceLock<Text>,
    arguments: OnceLock<Text>,
    tool_call_id: OnceLock<Text>,
    tool_name: OnceLock<Text>,
    error: OnceLock<agent_error_t>,
    partial: OnceLock<Option<Text>>,
    partial_output: OnceLock<Option<Text>>,
    json: OnceLock<Text>,
    subagent: OnceLock<Box<agent_event_t>>,
    path: OnceLock<Text>,
}

impl agent_event_t {
    pub(crate) fn new(event: Event) -> agent_event_t {
        let mut delta = Text::new("");
        delta.set(event.delta().unwrap_or_default());
        agent_event_t { event, delta, computed: OnceLock::new() }
    }

    /// Replaces this event by the next one.
    pub(crate) fn replace(&mut self, event: Event) {
        if let Some(delta) = event.delta() {
            self.delta.set(delta);
        }
        self.event = event;
        self.computed.take();
    }

    #[cfg(feature = "ui")]
    pub(crate) fn core(&self) -> &Event {
        &self.event
    }

    fn computed(&self) -> &Computed {
        self.computed.get_or_init(Box::default)
    }

    fn text(&self) -> Option<&Text> {
        if self.event.delta().is_some() {
            return Some(&self.delta);
        }
        self.computed().text.get_or_init(|| fields::text_of(&self.event.data).map(Text::new)).as_ref()
    }
}

/// The event's kind.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_kind(event: *const agent_event_t) -> i32 {
    // SAFETY: an event or NULL.
    guard::read(0, || Some(kind::kind(&unsafe { event.as_ref() }?.event.data)))
}

/// The kind as a word.
#[cfg_attr(exports, unsafe(no_mangle))]
pub extern "C" fn agent_event_kind_name(kind: i32) -> *const c_char {
    kind::word(kind).map_or(std::ptr::null(), CStr::as_ptr)
}

/// Whether the event is part of an assistant message.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_is_message_update(event: *const agent_event_t) -> bool {
    // SAFETY: an event or NULL.
    guard::read(false, || Some(matches!(unsafe { event.as_ref() }?.event.data, EventData::MessageUpdate(_))))
}

/// The run's id.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_run_id(event: *const agent_event_t, length: *mut usize) -> *const c_char {
    // SAFETY: an event or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let event = event.as_ref()?;
            Some(event.computed().run_id.get_or_init(|| Text::new(&*event.event.run_id)))
        })
    }
}

/// Its number in the run.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_seq(event: *const agent_event_t) -> u64 {
    // SAFETY: an event or NULL.
    guard::read(0, || Some(unsafe { event.as_ref() }?.event.seq))
}

/// The turn.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_turn(event: *const agent_event_t) -> u32 {
    // SAFETY: an event or NULL.
    guard::read(0, || Some(unsafe { event.as_ref() }?.event.turn))
}

/// Which block of the message.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_content_index(event: *const agent_event_t) -> u32 {
    // SAFETY: an event or NULL.
    guard::read(0, || fields::content_index_of(&unsafe { event.as_ref() }?.event.data))
}

/// The event's text.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_text(event: *const agent_event_t, length: *mut usize) -> *const c_char {
    // SAFETY: an event or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || event.as_ref()?.text()) }
}

/// The message's role.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_role(event: *const agent_event_t, length: *mut usize) -> *const c_char {
    // SAFETY: an event or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let event = event.as_ref()?;
            let message = fields::message_of(&event.event.data)?;
            Some(event.computed().role.get_or_init(|| Text::new(message.role())))
        })
    }
}

/// The message in JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_message(event: *const agent_event_t, length: *mut usize) -> *const c_char {
    // SAFETY: an event or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let event = event.as_ref()?;
            let message = fields::message_or_answer_of(&event.event.data)?;
            Some(event.computed().message.get_or_init(|| Text::json(message)))
        })
    }
}

/// Why the model stopped.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_stop_reason(event: *const agent_event_t, length: *mut usize) -> *const c_char {
    // SAFETY: an event or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let event = event.as_ref()?;
            let reason = fields::answer_of(&event.event.data)?.stop_reason?;
            Some(event.computed().stop_reason.get_or_init(|| Text::new(reason.as_str())))
        })
    }
}

/// The tokens of a message or of the run.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_usage(event: *const agent_event_t, which: i32) -> u64 {
    // SAFETY: an event or NULL.
    guard::read(0, || usage::count(fields::usage_of(&unsafe { event.as_ref() }?.event.data)?, which))
}

/// What they cost.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_cost(event: *const agent_event_t, which: i32, dollars: *mut f64) -> bool {
    // SAFETY: an event or NULL, and a number to write or NULL.
    unsafe { usage::write_cost(dollars, || usage::cost(fields::usage_of(&event.as_ref()?.event.data)?, which)) }
}

/// How long a tool took, or how long the pause before a retry is.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_duration_ms(event: *const agent_event_t) -> u64 {
    // SAFETY: an event or NULL.
    guard::read(0, || fields::duration_ms_of(&unsafe { event.as_ref() }?.event.data))
}

/// A call's arguments.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_arguments(event: *const agent_event_t, length: *mut usize) -> *const c_char {
    // SAFETY: an event or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let event = event.as_ref()?;
            let arguments = fields::arguments_of(&event.event.data)?;
            Some(event.computed().arguments.get_or_init(|| Text::json(arguments)))
        })
    }
}

/// Whether a tool failed.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_is_error(event: *const agent_event_t) -> bool {
    // SAFETY: an event or NULL.
    guard::read(false, || fields::is_error(&unsafe { event.as_ref() }?.event.data))
}

/// The call's id.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_tool_call_id(event: *const agent_event_t, length: *mut usize) -> *const c_char {
    // SAFETY: an event or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let event = event.as_ref()?;
            let (id, _) = fields::call_and_tool(&event.event.data)?;
            Some(event.computed().tool_call_id.get_or_init(|| Text::new(id)))
        })
    }
}

/// The tool's name.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_tool_name(event: *const agent_event_t, length: *mut usize) -> *const c_char {
    // SAFETY: an event or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let event = event.as_ref()?;
            let (_, name) = fields::call_and_tool(&event.event.data)?;
            Some(event.computed().tool_name.get_or_init(|| Text::new(name)))
        })
    }
}

/// Why the run ended.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_outcome(event: *const agent_event_t) -> i32 {
    // SAFETY: an event or NULL.
    guard::read(AGENT_OUTCOME_NONE, || fields::outcome_of(&unsafe { event.as_ref() }?.event.data).map(outcome_of))
}

/// What failed.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_error(event: *const agent_event_t) -> *const agent_error_t {
    guard::read(std::ptr::null(), || {
        // SAFETY: an event or NULL.
        let event = unsafe { event.as_ref() }?;
        let error = fields::error_of(&event.event.data)?;
        Some(std::ptr::from_ref(event.computed().error.get_or_init(|| agent_error_t::new(error.clone()))))
    })
}

/// The message as it is after the event.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_partial(event: *const agent_event_t, length: *mut usize) -> *const c_char {
    // SAFETY: an event or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let event = event.as_ref()?;
            let partial = || event.event.partial().map(|message| Text::json(&Message::Assistant(message)));
            event.computed().partial.get_or_init(partial).as_ref()
        })
    }
}

/// The typed final answer as it is after the event.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_partial_output(event: *const agent_event_t, length: *mut usize) -> *const c_char {
    // SAFETY: an event or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let event = event.as_ref()?;
            let output = || event.event.partial_output().map(|output| Text::json(&output));
            event.computed().partial_output.get_or_init(output).as_ref()
        })
    }
}

/// The event of a subagent.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_subagent(event: *const agent_event_t) -> *const agent_event_t {
    guard::read(std::ptr::null(), || {
        // SAFETY: an event or NULL.
        let event = unsafe { event.as_ref() }?;
        let EventData::SubagentEvent { event: inner, .. } = &event.event.data else { return None };
        let made = || Box::new(agent_event_t::new((**inner).clone()));
        Some(std::ptr::from_ref(&**event.computed().subagent.get_or_init(made)))
    })
}

/// The ids of the calls that lead to a subagent.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_path(event: *const agent_event_t, length: *mut usize) -> *const c_char {
    // SAFETY: an event or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let event = event.as_ref()?;
            let EventData::SubagentEvent { path, .. } = &event.event.data else { return None };
            Some(event.computed().path.get_or_init(|| Text::json(path)))
        })
    }
}

/// The event in JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_json(event: *const agent_event_t, length: *mut usize) -> *const c_char {
    // SAFETY: an event or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let event = event.as_ref()?;
            Some(event.computed().json.get_or_init(|| Text::new(event.event.to_json())))
        })
    }
}

/// An owned copy of an event.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_clone(event: *const agent_event_t) -> *mut agent_event_t {
    guard::read(std::ptr::null_mut(), || {
        // SAFETY: an event or NULL.
        let event = unsafe { event.as_ref() }?;
        Some(Box::into_raw(Box::new(agent_event_t::new(event.event.clone()))))
    })
}

/// Releases a clone.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_event_free(event: *mut agent_event_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(event) }));
}
