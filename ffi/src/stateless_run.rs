//! Stateless runs: without an agent, over a context that the caller owns. And one model call over it, without a loop; and a
//! recorded run that is played again.

use std::ffi::c_char;

use agent_loop::host::{Spelling, shown};
use agent_loop::suspension::Decision;
use agent_loop::{Agent, Context, Error, Message, Replay};
use serde_json::Value;

use crate::agent::agent_t;
use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::guard;
use crate::handle::{borrow, hand_out, output};
use crate::message::{agent_messages_t, read_list};
use crate::run::agent_run_t;
use crate::runtime::agent_runtime_t;
use crate::text;

/// Reads a context in JSON; what it omits is taken from the settings.
///
/// # Safety
/// As [`text::required`].
unsafe fn read_context(pointer: *const c_char, length: usize, settings: &Agent) -> Result<Context, Error> {
    let mut context = Context { system_prompt: settings.system_prompt(), tools: settings.tools(), ..Context::default() };
    if pointer.is_null() {
        return Ok(context);
    }
    // SAFETY: the caller's promise.
    let given = unsafe { text::object(pointer, length, "context") }?;
    Context::check_fields(given.keys().map(String::as_str), Spelling::Snake)?;
    for (name, value) in given {
        match (name.as_str(), value) {
            (_, Value::Null) => {}
            ("system_prompt", Value::String(text)) => context.system_prompt = text,
            ("system_prompt", other) => {
                return Err(Error::invalid_argument(format!("context: system_prompt: expected text, got {}", shown(&other))));
            }
            ("messages", list) => context.messages = read_list(list, "context: messages")?,
            (_, names) => select_tools(&mut context, names, settings)?,
        }
    }
    Ok(context)
}

/// Limits the context to those tools of the settings that are named.
fn select_tools(context: &mut Context, names: Value, settings: &Agent) -> Result<(), Error> {
    let wrong = |what: String| Error::invalid_argument(format!("context: tools: {what}"));
    let names = match names {
        Value::Array(names) => names,
        other => return Err(wrong(format!("expected an array of names, got {}", shown(&other)))),
    };
    let all = settings.tools();
    context.tools = Default::default();
    for name in names {
        let tool = name.as_str().and_then(|name| all.get(name));
        let tool = tool.ok_or_else(|| wrong(format!("the settings have no tool named {name}")))?;
        context.tools.add(std::sync::Arc::clone(tool))?;
    }
    Ok(())
}

/// Starts a run with prompts over a context.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_loop_run(
    settings: *const agent_t,
    context: *const c_char,
    length: usize,
    prompts: *const agent_messages_t,
    run: *mut *mut agent_run_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let settings = &borrow(settings, "settings")?.agent;
            let prompts = borrow(prompts, "prompts")?.prompt();
            let out = output(run, "run")?;
            let context = read_context(context, length, settings)?;
            hand_out(out, agent_run_t::new(agent_loop::run(&context, prompts, settings).stream()?));
            Ok(AGENT_OK)
        })
    }
}

/// Starts a run over a context with its calls without results, as it is decided about each.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_loop_resume_decided(
    settings: *const agent_t,
    context: *const c_char,
    length: usize,
    decisions: *const c_char,
    decisions_length: usize,
    run: *mut *mut agent_run_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, texts or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let settings = &borrow(settings, "settings")?.agent;
            let out = output(run, "run")?;
            let context = read_context(context, length, settings)?;
            let decisions = Decision::all_from_json(text::json(decisions, decisions_length, "decisions")?)?;
            hand_out(out, agent_run_t::new(agent_loop::resume(&context, settings).decisions(decisions).stream()?));
            Ok(AGENT_OK)
        })
    }
}

/// Starts a run from a context, adding no message.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_loop_resume(
    settings: *const agent_t,
    context: *const c_char,
    length: usize,
    run: *mut *mut agent_run_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let settings = &borrow(settings, "settings")?.agent;
            let out = output(run, "run")?;
            let context = read_context(context, length, settings)?;
            hand_out(out, agent_run_t::new(agent_loop::resume(&context, settings).stream()?));
            Ok(AGENT_OK)
        })
    }
}

/// Starts one model call over a context and messages.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_complete(
    settings: *const agent_t,
    context: *const c_char,
    length: usize,
    messages: *const agent_messages_t,
    run: *mut *mut agent_run_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let settings = &borrow(settings, "settings")?.agent;
            let messages = if messages.is_null() { Vec::new() } else { borrow(messages, "messages")?.shared() };
            let out = output(run, "run")?;
            let Context { system_prompt, messages: before, tools } = read_context(context, length, settings)?;
            let call = agent_loop::complete(settings, Vec::<Message>::new()).history(before.into_iter().chain(messages));
            let run = call.system_prompt(system_prompt).tools(tools.specs()).stream()?;
            hand_out(out, agent_run_t::new(run));
            Ok(AGENT_OK)
        })
    }
}

/// Starts a recorded run that is played again.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_replay(
    runtime: *const agent_runtime_t,
    recording: *const c_char,
    length: usize,
    number: usize,
    run: *mut *mut agent_run_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a runtime or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let runtime = &borrow(runtime, "runtime")?.runtime;
            let recording = Replay::of(text::required(recording, length, "recording")?).run(number);
            let out = output(run, "run")?;
            hand_out(out, agent_run_t::new(agent_loop::replay_in(runtime, recording).stream()?));
            Ok(AGENT_OK)
        })
    }
}
