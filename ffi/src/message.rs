//! Lists of messages: created by the program for a prompt, or read by it after a run.

use std::ffi::c_char;
use std::sync::{Arc, OnceLock};

use agent_loop::host::{given_messages, read_history_of};
use agent_loop::message::read_file;
use agent_loop::{ContentBlock, Error, Message, Prompt, ToolResultMessage, UserMessage};
use serde_json::Value;

use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::{borrow_mut, hand_out, output, take_back};
use crate::text::{self, Text, borrowed};

/// A list of messages.
#[derive(Default)]
pub struct agent_messages_t {
    entries: Vec<Entry>,
    /// Messages that got a file: what C has borrowed from them stays valid.
    replaced: Vec<Entry>,
    json: OnceLock<Text>,
}

/// A message, and what C has borrowed from it.
struct Entry {
    message: Arc<Message>,
    role: OnceLock<Text>,
    text: OnceLock<Text>,
    json: OnceLock<Text>,
}

impl agent_messages_t {
    pub(crate) fn new(messages: impl IntoIterator<Item = Arc<Message>>) -> agent_messages_t {
        let entry = |message| Entry { message, role: OnceLock::new(), text: OnceLock::new(), json: OnceLock::new() };
        agent_messages_t { entries: messages.into_iter().map(entry).collect(), ..agent_messages_t::default() }
    }

    pub(crate) fn shared(&self) -> Vec<Arc<Message>> {
        self.entries.iter().map(|entry| Arc::clone(&entry.message)).collect()
    }

    pub(crate) fn prompt(&self) -> Prompt {
        self.entries.iter().map(|entry| Message::clone(&entry.message)).collect::<Vec<_>>().into()
    }

    /// Adds a block to the last message, if it is the user's, or else as a new one.
    fn add_to_user(&mut self, block: ContentBlock) {
        let mut user = UserMessage::new(Vec::new());
        if let Some(Message::User(last)) = self.entries.last().map(|entry| &*entry.message) {
            user = last.clone();
            self.replaced.extend(self.entries.pop());
        }
        user.content.push(block);
        self.add(Message::User(user));
    }

    fn add(&mut self, message: Message) {
        self.entries.extend(agent_messages_t::new([Arc::new(message)]).entries);
        self.json = OnceLock::new();
    }
}

/// Messages in a JSON array. `name` is the argument or field, for the error.
pub(crate) fn read_list(value: Value, name: &str) -> Result<Vec<Arc<Message>>, Error> {
    given_messages(value).map_err(|unread| unread.at(name).invalid_argument())
}

/// A tool's result, if the message is one.
pub(crate) fn tool_result(message: &Message) -> Option<&ToolResultMessage> {
    match message {
        Message::ToolResult(result) => Some(result),
        Message::User(_) | Message::Assistant(_) | Message::Custom(_) => None,
    }
}

/// Creates an empty list.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_new(
    messages: *mut *mut agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: outputs to write or NULL.
    unsafe {
        guard(error, || {
            hand_out(output(messages, "messages")?, agent_messages_t::default());
            Ok(AGENT_OK)
        })
    }
}

/// Reads a list.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_from_json(
    json: *const c_char,
    length: usize,
    messages: *mut *mut agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let out = output(messages, "messages")?;
            let list = read_list(text::json(json, length, "json")?, "json")?;
            hand_out(out, agent_messages_t::new(list));
            Ok(AGENT_OK)
        })
    }
}

/// Reads a stored history.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_from_history(
    json: *const c_char,
    length: usize,
    messages: *mut *mut agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let out = output(messages, "messages")?;
            let list = read_history_of("json", text::json(json, length, "json")?)?;
            hand_out(out, agent_messages_t::new(list.into_iter().map(Arc::new)));
            Ok(AGENT_OK)
        })
    }
}

/// Appends a user message.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_add_user(
    messages: *mut agent_messages_t,
    text: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a list or NULL that no other thread uses meanwhile, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let messages = borrow_mut(messages, "messages")?;
            // The run that it starts sets the timestamp.
            messages.add(Message::user(text::prose(text, length, "text")?, 0));
            Ok(AGENT_OK)
        })
    }
}

/// Appends a file to the last message, or in a new one.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_add_file(
    messages: *mut agent_messages_t,
    path: *const c_char,
    path_length: usize,
    mime_type: *const c_char,
    mime_type_length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a list or NULL that no other thread uses meanwhile, texts or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let messages = borrow_mut(messages, "messages")?;
            let path = text::identifier(path, path_length, "path")?;
            let mime_type = text::optional_identifier(mime_type, mime_type_length, "mime_type")?;
            messages.add_to_user(read_file(path, mime_type)?);
            Ok(AGENT_OK)
        })
    }
}

/// Appends a message in JSON, or what else a prompt can be.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_add_json(
    messages: *mut agent_messages_t,
    json: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a list or NULL that no other thread uses meanwhile, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let messages = borrow_mut(messages, "messages")?;
            let prompt = match text::json(json, length, "json")? {
                // Its error is about a message, whatever is missing.
                message @ Value::Object(_) => Message::from_json(message)?.into(),
                other => Prompt::from_json_of("json", other)?,
            };
            prompt.into_messages(0).into_iter().for_each(|message| messages.add(message));
            Ok(AGENT_OK)
        })
    }
}

/// The number of messages.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_count(messages: *const agent_messages_t) -> usize {
    // SAFETY: a list or NULL.
    guard::read(0, || Some(unsafe { messages.as_ref() }?.entries.len()))
}

/// A message's role.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_role(
    messages: *const agent_messages_t,
    index: usize,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: a list or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let entry = messages.as_ref()?.entries.get(index)?;
            Some(entry.role.get_or_init(|| Text::new(entry.message.role())))
        })
    }
}

/// A message's text.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_text(
    messages: *const agent_messages_t,
    index: usize,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: a list or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let entry = messages.as_ref()?.entries.get(index)?;
            Some(entry.text.get_or_init(|| Text::new(entry.message.text())))
        })
    }
}

/// A message in JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_json_at(
    messages: *const agent_messages_t,
    index: usize,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: a list or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let entry = messages.as_ref()?.entries.get(index)?;
            Some(entry.json.get_or_init(|| Text::json(&entry.message)))
        })
    }
}

/// All messages in JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_json(messages: *const agent_messages_t, length: *mut usize) -> *const c_char {
    // SAFETY: a list or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let messages = messages.as_ref()?;
            let list = || messages.entries.iter().map(|entry| &entry.message).collect::<Vec<_>>();
            Some(messages.json.get_or_init(|| Text::json(&list())))
        })
    }
}

/// Releases a list.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_free(messages: *mut agent_messages_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(messages) }));
}
