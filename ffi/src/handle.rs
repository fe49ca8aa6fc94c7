//! Pointers to handles and callbacks: borrowed from C, handed out to C, taken back.

use std::ffi::c_void;
use std::sync::Arc;

use agent_loop::host::{Blocking, HostCall, HostFunction, HostKind, Scope, hand_over};
use agent_loop::{CancelToken, Error};

/// Called once with the userdata of a callback that will not be called any more.
pub type agent_destroy_fn_t = Option<unsafe extern "C" fn(userdata: *mut c_void)>;

/// Borrows a handle from C. `name` is the argument's, for the error.
///
/// # Safety
/// `pointer` is null or a handle that outlives `'a`.
pub(crate) unsafe fn borrow<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Error> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or_else(|| null_argument(name))
}

/// Borrows a handle from C exclusively.
///
/// # Safety
/// `pointer` is null or a handle that outlives `'a` and that no other thread uses meanwhile.
pub(crate) unsafe fn borrow_mut<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T, Error> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_mut() }.ok_or_else(|| null_argument(name))
}

/// Checks that an output can be written, before a side effect that would have to be undone.
pub(crate) fn output<T>(out: *mut T, name: &str) -> Result<*mut T, Error> {
    if out.is_null() { Err(null_argument(name)) } else { Ok(out) }
}

/// Hands out a new owned handle to C.
///
/// # Safety
/// `out` may be written.
pub(crate) unsafe fn hand_out<T>(out: *mut *mut T, value: T) {
    // SAFETY: the caller's promise.
    unsafe { out.write(Box::into_raw(Box::new(value))) };
}

/// Takes a handle back from C; null is nothing.
///
/// # Safety
/// `pointer` is null or came from [`hand_out`], and is not used again.
pub(crate) unsafe fn take_back<T>(pointer: *mut T) -> Option<Box<T>> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: it came from a box, and this is its only owner.
    Some(unsafe { Box::from_raw(pointer) })
}

/// A function of the host with its userdata. Dropping it calls the userdata's destroy function: a shared callback is held in
/// an `Arc`.
pub(crate) struct Callback<F> {
    pub(crate) function: F,
    userdata: *mut c_void,
    destroy: agent_destroy_fn_t,
}

// SAFETY: agent.h says that a callback and its userdata are used on any thread.
unsafe impl<F: Send> Send for Callback<F> {}
// SAFETY: as above; also concurrently, where the header says so (tools).
unsafe impl<F: Sync> Sync for Callback<F> {}

impl<F> Callback<Option<F>> {
    /// Created first in a function, so that destroy is called whatever fails after it.
    pub(crate) fn new(function: Option<F>, userdata: *mut c_void, destroy: agent_destroy_fn_t) -> Callback<Option<F>> {
        Callback { function, userdata, destroy }
    }

    /// The callback, which must have a function.
    pub(crate) fn required(self, name: &str) -> Result<Callback<F>, Error> {
        self.optional().ok_or_else(|| null_argument(name))
    }

    /// The callback, if it has a function.
    pub(crate) fn optional(mut self) -> Option<Callback<F>> {
        let function = self.function.take()?;
        // From here on the new one calls destroy.
        Some(Callback { function, userdata: self.userdata, destroy: self.destroy.take() })
    }
}

impl<F> Callback<F> {
    pub(crate) fn userdata(&self) -> *mut c_void {
        self.userdata
    }
}

impl<F> Drop for Callback<F> {
    fn drop(&mut self) {
        if let Some(destroy) = self.destroy {
            // SAFETY: the host gave both for this, and drop runs once.
            unsafe { destroy(self.userdata) };
        }
    }
}

/// A C function that gets an owned handle for each call, on a thread where it may block.
pub(crate) fn host_function<T: Send + 'static>(
    callback: Callback<unsafe extern "C" fn(userdata: *mut c_void, call: *mut T)>,
    handle: fn(HostCall) -> T,
) -> HostFunction {
    let callback = Arc::new(callback);
    Arc::new(move |call| {
        let (callback, scope) = (Arc::clone(&callback), Scope::current());
        let what = if call.kind() == HostKind::Tool { Blocking::Tool } else { Blocking::Other };
        let work = move |call: HostCall| {
            if what == Blocking::Tool && call.over_token().is_some_and(CancelToken::is_cancelled) {
                // It waited for a thread until it was no longer needed.
                return;
            }
            let handle = Box::into_raw(Box::new(handle(call)));
            // SAFETY: function and userdata were given together, and the function now owns the handle.
            in_scope(scope, || unsafe { (callback.function)(callback.userdata(), handle) });
        };
        hand_over(what, call, work, |call, error| {
            let what = call.tool_context().map_or_else(String::new, |context| format!(" for {}", context.name()));
            // Nothing has answered it.
            let _ = call.fail(format!("the callback{what} could not be called: {}", error.message()));
        });
    })
}

/// Runs code of the host in the scope of an agent's callback, if it came from one.
pub(crate) fn in_scope(scope: Option<Scope>, work: impl FnOnce()) {
    match scope {
        Some(scope) => scope.run(work),
        None => work(),
    }
}

fn null_argument(name: &str) -> Error {
    Error::invalid_argument(format!("{name} is NULL"))
}
