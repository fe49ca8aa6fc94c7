//! Sets the soname of the shared library, keeps the library loaded, and packs its relocations. The number in the soname is
//! `AGENT_ABI_VERSION` of `src/lib.rs`; a test compares both with the header.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    match var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux" | "android" | "freebsd" | "netbsd" | "openbsd") => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libagent.so.0");
            // Its threads may still run when a program calls dlclose().
            println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
            // They are 345 kB of the library, packed 3 kB. Not when built for another machine: its loader is not known.
            if var("TARGET") == var("HOST") && loader_unpacks_relocations() {
                println!("cargo::rustc-cdylib-link-arg=-Wl,-z,pack-relative-relocs");
            }
        }
        Ok("macos") => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libagent.0.dylib"),
        _ => {}
    }
}

/// Whether this machine has glibc 2.36 or later. An older one refuses such a library; but a library is built on the oldest system
/// that it is for in any case, because it also needs the functions of the glibc that it was built with.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn loader_unpacks_relocations() -> bool {
    use std::ffi::{CStr, c_char};

    unsafe extern "C" {
        fn gnu_get_libc_version() -> *const c_char;
    }
    // SAFETY: it takes nothing and returns a text that is never freed.
    let version = unsafe { CStr::from_ptr(gnu_get_libc_version()) };
    let version: Vec<u32> = version.to_string_lossy().split('.').map_while(|part| part.parse().ok()).collect();
    version.as_slice() >= [2, 36].as_slice()
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn loader_unpacks_relocations() -> bool {
    false
}
