//! Runs for a browser: the frames of their events, and the browser's requests.

use std::ffi::c_char;

use agent_loop::Error;
use agent_loop::host::Spelling;
use agent_loop::ui::{UiFrames, UiOptions, UiProtocol, UiRequest, UiRequestOptions};
use serde_json::Value;

use crate::agent::agent_t;
use crate::agent::runs::start;
use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::event::agent_event_t;
use crate::guard::{self, guard};
use crate::handle::{borrow, borrow_mut, hand_out, output, take_back};
use crate::message::agent_messages_t;
use crate::run::agent_run_t;
use crate::text::{self, Text, agent_text_t, borrowed};

/// Writes the frames of one run.
pub struct agent_ui_stream_t {
    stream: UiFrames,
    headers: Text,
    frames: String,
    /// The frames that C borrows.
    current: Text,
}

/// A browser's request.
pub struct agent_ui_request_t {
    request: UiRequest,
    id: Text,
    run_id: Text,
    message_id: Text,
}

/// Makes a stream.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_ui_stream_new(
    protocol: *const c_char,
    protocol_length: usize,
    options: *const c_char,
    options_length: usize,
    request: *const agent_ui_request_t,
    stream: *mut *mut agent_ui_stream_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: texts or NULL, a request or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let protocol = UiProtocol::parse(text::required(protocol, protocol_length, "protocol")?)?;
            let mut options = UiOptions::from_json(given(options, options_length)?, Spelling::Snake)?;
            if let Some(request) = request.as_ref() {
                options = options.of(&request.request);
            }
            let headers = protocol.headers().iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect::<String>();
            let made = agent_ui_stream_t {
                stream: UiFrames::new(protocol, options),
                headers: Text::new(headers),
                frames: String::new(),
                current: Text::new(""),
            };
            hand_out(output(stream, "stream")?, made);
            Ok(AGENT_OK)
        })
    }
}

/// The headers of the response.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_ui_stream_headers(stream: *const agent_ui_stream_t, length: *mut usize) -> *const c_char {
    // SAFETY: a stream or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&stream.as_ref()?.headers)) }
}

/// The frames of an event.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_ui_stream_push(
    stream: *mut agent_ui_stream_t,
    event: *const agent_event_t,
    frames: *mut *const c_char,
    length: *mut usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let stream = borrow_mut(stream, "stream")?;
            let event = borrow(event, "event")?;
            let out = output(frames, "frames")?;
            stream.frames.clear();
            stream.stream.push(event.core(), &mut stream.frames);
            stream.current.set(&stream.frames);
            out.write(stream.current.as_ptr(length));
            Ok(AGENT_OK)
        })
    }
}

/// Releases a stream.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_ui_stream_free(stream: *mut agent_ui_stream_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(stream) }));
}

/// Reads a request.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_ui_request_new(
    protocol: *const c_char,
    protocol_length: usize,
    body: *const c_char,
    body_length: usize,
    options: *const c_char,
    options_length: usize,
    request: *mut *mut agent_ui_request_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: texts or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let protocol = UiProtocol::parse(text::required(protocol, protocol_length, "protocol")?)?;
            let options = UiRequestOptions::from_json(given(options, options_length)?, Spelling::Snake)?;
            let read = UiRequest::read_text(protocol, text::required(body, body_length, "body")?)?.with_options(options);
            let text = |id: &Option<String>| Text::new(id.clone().unwrap_or_default());
            let (id, run_id, message_id) = (text(&read.id), text(&read.run_id), text(&read.message_id));
            hand_out(output(request, "request")?, agent_ui_request_t { request: read, id, run_id, message_id });
            Ok(AGENT_OK)
        })
    }
}

/// The id of the conversation.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_ui_request_id(request: *const agent_ui_request_t, length: *mut usize) -> *const c_char {
    // SAFETY: a request or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&request.as_ref()?.id)) }
}

/// The id of the run.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_ui_request_run_id(request: *const agent_ui_request_t, length: *mut usize) -> *const c_char {
    // SAFETY: a request or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&request.as_ref()?.run_id)) }
}

/// The message that is to be answered anew, or that was edited.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_ui_request_message_id(request: *const agent_ui_request_t, length: *mut usize) -> *const c_char {
    // SAFETY: a request or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&request.as_ref()?.message_id)) }
}

/// The conversation as the browser has it.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_ui_request_history(
    request: *const agent_ui_request_t,
    messages: *mut *mut agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a request or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let request = borrow(request, "request")?;
            hand_out(output(messages, "messages")?, agent_messages_t::new(request.request.history.iter().cloned()));
            Ok(AGENT_OK)
        })
    }
}

/// Starts the run that is asked for.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_ui_request_start(
    request: *const agent_ui_request_t,
    agent: *mut agent_t,
    run: *mut *mut agent_run_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let request = borrow(request, "request")?;
            start(borrow(agent, "agent")?.agent.answer_ui(&request.request)?, run)
        })
    }
}

/// The conversation as the AI SDK has it.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_to_ui_messages(
    agent: *const agent_t,
    options: *const c_char,
    length: usize,
    json: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let agent = borrow(agent, "agent")?;
            let options = UiOptions::from_json(given(options, length)?, Spelling::Snake)?;
            hand_out(output(json, "json")?, agent_text_t::new(agent.agent.to_ui_messages(&options).to_string()));
            Ok(AGENT_OK)
        })
    }
}

/// # Safety
/// As [`text::json`].
unsafe fn given(options: *const c_char, length: usize) -> Result<Value, Error> {
    // SAFETY: the caller's promise.
    if options.is_null() { Ok(Value::Null) } else { unsafe { text::json(options, length, "options") } }
}

/// Releases a request.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_ui_request_free(request: *mut agent_ui_request_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(request) }));
}
