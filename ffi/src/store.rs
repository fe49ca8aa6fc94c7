//! Stores of sessions: by their address, and custom ones.

pub mod call;
pub(crate) mod owner;

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use agent_loop::host::{HostFunction, Scope, Spelling};
use agent_loop::session::hosting::{HostStore, open_store, query_of};
use agent_loop::session::{Session, Store, StoreBuilder};
use agent_loop::{Error, Runtime};
use serde_json::{Map, Value};

use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::{Callback, agent_destroy_fn_t, borrow, hand_out, host_function, output, take_back};
use crate::runtime::agent_runtime_t;
use crate::session::agent_session_t;
use crate::text::{self, Text, agent_text_t, borrowed};
use call::{agent_store_call_t, agent_store_fn_t};
use owner::Owner;

/// A store.
pub struct agent_store_t {
    store: Store,
    name: Text,
    owner: Owner,
}

/// Reads options in JSON.
///
/// # Safety
/// As [`text::required`].
unsafe fn read_options(pointer: *const c_char, length: usize) -> Result<Map<String, Value>, Error> {
    if pointer.is_null() {
        return Ok(Map::new());
    }
    // SAFETY: the caller's promise.
    unsafe { text::object(pointer, length, "options") }
}

fn open(
    runtime: &Runtime,
    scope: Option<Scope>,
    builder: StoreBuilder,
    options: Map<String, Value>,
) -> Result<agent_store_t, Error> {
    runtime.check()?;
    let store = runtime.run_here(|| open_store(builder, options, Spelling::Snake))?;
    let name = Text::new(store.name());
    Ok(agent_store_t { store, name, owner: Owner::new(runtime, scope) })
}

/// Opens a store by its address.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_store_open(
    runtime: *mut agent_runtime_t,
    address: *const c_char,
    length: usize,
    options: *const c_char,
    options_length: usize,
    store: *mut *mut agent_store_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a runtime or NULL, texts or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let runtime = &borrow(runtime, "runtime")?.runtime;
            let address = text::identifier(address, length, "address")?;
            let (options, out) = (read_options(options, options_length)?, output(store, "store")?);
            hand_out(out, open(runtime, None, Store::builder(address), options)?);
            Ok(AGENT_OK)
        })
    }
}

/// Creates a custom store.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_store_new_custom(
    runtime: *mut agent_runtime_t,
    name: *const c_char,
    length: usize,
    options: *const c_char,
    options_length: usize,
    function: agent_store_fn_t,
    userdata: *mut c_void,
    destroy: agent_destroy_fn_t,
    store: *mut *mut agent_store_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    let callback = Callback::new(function, userdata, destroy);
    // SAFETY: a runtime or NULL, texts or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let runtime = &borrow(runtime, "runtime")?.runtime;
            let name = text::identifier(name, length, "name")?.to_owned();
            let (mut options, out) = (read_options(options, options_length)?, output(store, "store")?);
            let has_changed = call::takes_changed(&mut options)?;
            let function = host_function(callback.required("function")?, agent_store_call_t::new);
            let scope = Scope::new();
            let of_calls = scope.clone();
            let function: HostFunction = Arc::new(move |call| of_calls.run(|| function(call)));
            let host = HostStore { name, function, blocking: Vec::new(), has_changed, pid: std::process::id() };
            hand_out(out, open(runtime, Some(scope), Store::custom(host), options)?);
            Ok(AGENT_OK)
        })
    }
}

/// What errors call the store.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_store_name(store: *const agent_store_t, length: *mut usize) -> *const c_char {
    // SAFETY: a store or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&store.as_ref()?.name)) }
}

/// Lists sessions.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_store_list(
    store: *const agent_store_t,
    query: *const c_char,
    length: usize,
    page: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a store or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let store = borrow(store, "store")?;
            let query = if query.is_null() { Map::new() } else { text::object(query, length, "query")? };
            let (query, out) = (query_of(query, Spelling::Snake)?, output(page, "page")?);
            let of_list = store.store.clone();
            let list = store.owner.wait("agent_store_list", async move { of_list.list(query).await })?;
            hand_out(out, agent_text_t::json(&list));
            Ok(AGENT_OK)
        })
    }
}

/// The session of an id.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_store_session(
    store: *const agent_store_t,
    id: *const c_char,
    length: usize,
    session: *mut *mut agent_session_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a store or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let store = borrow(store, "store")?;
            let (id, out) = (text::identifier(id, length, "id")?, output(session, "session")?);
            hand_out(out, agent_session_t::new(store.store.session(id)?, &store.owner));
            Ok(AGENT_OK)
        })
    }
}

/// Makes a session of JSON lines.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_store_import(
    store: *mut agent_store_t,
    text: *const c_char,
    length: usize,
    id: *const c_char,
    id_length: usize,
    session: *mut *mut agent_session_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a store or NULL, texts or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let store = borrow(store, "store")?;
            let lines = text::prose(text, length, "text")?.to_owned();
            let id = text::optional_identifier(id, id_length, "id")?.map(str::to_owned);
            let out = output(session, "session")?;
            let of_import = store.store.clone();
            let import = async move { of_import.import(&lines, id.as_deref()).await };
            let imported: Session = store.owner.wait("agent_store_import", import)?;
            hand_out(out, agent_session_t::new(imported, &store.owner));
            Ok(AGENT_OK)
        })
    }
}

/// Releases a store.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_store_free(store: *mut agent_store_t) {
    guard::release(|| {
        // SAFETY: ours, and not used again.
        if let Some(store) = unsafe { take_back(store) } {
            let agent_store_t { store, name: _, owner } = *store;
            owner.release(store);
        }
    });
}
