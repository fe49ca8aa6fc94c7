//! Tools that are C functions.

pub mod call;

use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_loop::{Error, PendingCall, Tool, ToolSpec};
use serde_json::{Map, Value};

use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::{Callback, agent_destroy_fn_t, borrow, hand_out, take_back, wanted};
use crate::text;
use call::agent_tool_call_t;

/// A tool's function. It owns the call.
pub type agent_tool_fn_t = Option<unsafe extern "C" fn(userdata: *mut c_void, call: *mut agent_tool_call_t)>;
type ToolFunction = unsafe extern "C" fn(userdata: *mut c_void, call: *mut agent_tool_call_t);

/// What a model can call.
pub struct agent_tool_t {
    description: Mutex<Description>,
}

struct Description {
    fields: Map<String, Value>,
    tool: Arc<CTool>,
}

impl agent_tool_t {
    pub(crate) fn tool(&self) -> Arc<dyn Tool> {
        Arc::clone(&lock(&self.description).tool) as Arc<dyn Tool>
    }
}

/// The tool as core has it.
struct CTool {
    spec: ToolSpec,
    callback: Arc<Callback<ToolFunction>>,
}

impl CTool {
    fn new(fields: &Map<String, Value>, callback: &Arc<Callback<ToolFunction>>) -> Result<Arc<CTool>, Error> {
        let spec = ToolSpec::from_json(Value::Object(fields.clone()))?;
        Ok(Arc::new(CTool { spec, callback: Arc::clone(callback) }))
    }
}

impl Tool for CTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn start(&self, call: PendingCall) {
        let call = Box::into_raw(Box::new(agent_tool_call_t::new(call)));
        // SAFETY: the function and its userdata came together, and the call is now the function's.
        unsafe { (self.callback.function)(self.callback.userdata(), call) };
    }

    /// C has no other way to wait.
    fn may_block(&self) -> bool {
        true
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is half changed under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a tool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_tool_new(
    json: *const c_char,
    length: usize,
    function: agent_tool_fn_t,
    userdata: *mut c_void,
    destroy: agent_destroy_fn_t,
    tool: *mut *mut agent_tool_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    let callback = Callback::new(function, userdata, destroy);
    // SAFETY: text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let callback = Arc::new(callback.required("function")?);
            let out = wanted(tool, "tool")?;
            let fields = text::object(json, length, "json")?;
            let tool = CTool::new(&fields, &callback)?;
            hand_out(out, agent_tool_t { description: Mutex::new(Description { fields, tool }) });
            Ok(AGENT_OK)
        })
    }
}

/// Replaces fields of a tool's description.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_tool_set_json(
    tool: *mut agent_tool_t,
    json: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a tool or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let mut description = lock(&borrow(tool, "tool")?.description);
            let mut fields = description.fields.clone();
            fields.extend(text::object(json, length, "json")?);
            description.tool = CTool::new(&fields, &description.tool.callback)?;
            description.fields = fields;
            Ok(AGENT_OK)
        })
    }
}

/// Releases a tool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_tool_free(tool: *mut agent_tool_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(tool) }));
}
