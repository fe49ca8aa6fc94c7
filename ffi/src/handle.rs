//! Pointers that stand for handles and callbacks: borrowed, handed out, taken back.

use std::ffi::c_void;

use agent_loop::{Error, Scope};

/// Called once with the userdata of a callback that will not be called any more.
pub type agent_destroy_fn_t = Option<unsafe extern "C" fn(userdata: *mut c_void)>;

/// What C lent us. `name` is the argument's, for the error.
///
/// # Safety
/// `pointer` is null or a handle that stays as long as `'a`.
pub(crate) unsafe fn borrow<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Error> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or_else(|| is_null(name))
}

/// What C lent us to be changed.
///
/// # Safety
/// `pointer` is null or a handle that stays as long as `'a` and that nobody else uses meanwhile.
pub(crate) unsafe fn borrow_mut<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T, Error> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_mut() }.ok_or_else(|| is_null(name))
}

/// Checks that an output can be written, before anything is done that would have to be undone.
pub(crate) fn wanted<T>(out: *mut T, name: &str) -> Result<*mut T, Error> {
    if out.is_null() { Err(is_null(name)) } else { Ok(out) }
}

/// Gives a new handle to C.
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
    // SAFETY: it came from a box, and nobody else has it.
    Some(unsafe { Box::from_raw(pointer) })
}

/// A function of the host with its userdata. When this goes, the userdata's destroy function is called: whoever shares a
/// callback holds it in an `Arc`.
pub(crate) struct Callback<F> {
    pub(crate) function: F,
    userdata: *mut c_void,
    destroy: agent_destroy_fn_t,
}

// SAFETY: agent.h says that a callback and its userdata are used on any thread.
unsafe impl<F: Send> Send for Callback<F> {}
// SAFETY: as above, also by several at once where the header says so (tools).
unsafe impl<F: Sync> Sync for Callback<F> {}

impl<F> Callback<Option<F>> {
    /// To be made first in a function, so that destroy is called whatever goes wrong after it.
    pub(crate) fn new(function: Option<F>, userdata: *mut c_void, destroy: agent_destroy_fn_t) -> Callback<Option<F>> {
        Callback { function, userdata, destroy }
    }

    /// The callback, which must have a function.
    pub(crate) fn required(self, name: &str) -> Result<Callback<F>, Error> {
        self.optional().ok_or_else(|| is_null(name))
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

/// Runs code of the host's on a thread where it may block, inside the callbacks that this code is in. For code that the engine
/// calls.
pub(crate) fn where_it_may_block(work: impl FnOnce() + Send + 'static) {
    let scope = Scope::current();
    drop(tokio::task::spawn_blocking(move || match scope {
        Some(scope) => scope.run(work),
        None => work(),
    }));
}

fn is_null(name: &str) -> Error {
    Error::invalid_argument(format!("{name} is NULL"))
}
