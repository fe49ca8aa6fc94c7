//! Whether the caller's thread has stack enough to do the engine's work.

use std::cell::OnceCell;
use std::ops::Range;

/// What the engine may need: TLS, JSON of any depth, the compilation of a schema. The library's own threads have twice as much.
const NEEDED: usize = 1 << 20;

thread_local! {
    static STACK: OnceCell<Range<usize>> = const { OnceCell::new() };
}

/// Whether the engine may run on this thread, here. Not on a stack that the program made itself (a coroutine's): its end is not
/// known.
pub(crate) fn is_large_enough() -> bool {
    let here = 0u8;
    let here = std::ptr::from_ref(&here).addr();
    let stack = |stack: &OnceCell<Range<usize>>| stack.get_or_init(|| bounds().unwrap_or(0..0)).clone();
    // A thread that ends has no thread-locals any more.
    STACK.try_with(stack).is_ok_and(|stack| stack.contains(&here) && here - stack.start >= NEEDED)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn bounds() -> Option<Range<usize>> {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut start, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes are initialized by the first call if it succeeds, and destroyed after their last use.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let failed = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut start, &raw mut size) != 0;
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        (!failed).then(|| start.addr()..start.addr().saturating_add(size))
    }
}

#[cfg(target_vendor = "apple")]
fn bounds() -> Option<Range<usize>> {
    // SAFETY: both read what belongs to this thread. The address is that of the stack's upper end.
    let (end, size) = unsafe {
        let thread = libc::pthread_self();
        (libc::pthread_get_stackaddr_np(thread).addr(), libc::pthread_get_stacksize_np(thread))
    };
    Some(end.saturating_sub(size)..end)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn bounds() -> Option<Range<usize>> {
    None
}

#[cfg(test)]
mod tests {
    use super::is_large_enough;

    #[test]
    fn a_small_thread_does_not_do_the_engines_work() {
        let on_a_stack_of = |bytes: usize| {
            let thread = std::thread::Builder::new().stack_size(bytes).spawn(is_large_enough);
            thread.ok().and_then(|thread| thread.join().ok())
        };
        assert_eq!(on_a_stack_of(256 << 10), Some(false));
        assert_eq!(on_a_stack_of(4 << 20), Some(cfg!(unix)));
    }
}
