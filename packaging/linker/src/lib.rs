//! What is shipped is linked with this, called by the build scripts: packed relocations, and one function for all of the same
//! code.

use std::env::var;
use std::path::Path;
use std::process::{Command, Stdio};

/// 60 kB of the C library. Nothing compares the addresses of functions or of constants.
const MERGE: &str = "-Wl,--icf=all";

/// What a build script is for.
#[derive(Clone, Copy)]
pub enum Linked {
    /// A shared library: its package has the crate type `cdylib`.
    Library,
    /// The programs of the package.
    Program,
}

/// Has the library or the program of this build script linked smaller, where the linker and the loader can do that.
pub fn shrink(linked: Linked) {
    let instruction = match linked {
        Linked::Library => "cargo::rustc-link-arg-cdylib",
        Linked::Program => "cargo::rustc-link-arg-bins",
    };
    if !matches!(var("CARGO_CFG_TARGET_OS").as_deref(), Ok("linux" | "android" | "freebsd" | "netbsd" | "openbsd")) {
        return;
    }
    // They are 345 kB of the C library, packed 3 kB. Not when built for another machine: its loader is not known.
    if var("TARGET") == var("HOST") && loader_unpacks_relocations() {
        println!("{instruction}=-Wl,-z,pack-relative-relocs");
    }
    if var("PROFILE").as_deref() == Ok("release") && linker_knows(MERGE) {
        println!("{instruction}={MERGE}");
    }
}

/// Whether the linker has this option: rustc's own and lld have, GNU's has not. It links nothing to see.
fn linker_knows(option: &str) -> bool {
    let given = |name: &str| var(name).unwrap_or_default();
    let mut command = Command::new(given("RUSTC"));
    command.args(["--crate-name=linked", "--crate-type=cdylib", "--target", &given("TARGET"), "-"]);
    command.arg("-o").arg(Path::new(&given("OUT_DIR")).join("linked"));
    command.args(given("CARGO_ENCODED_RUSTFLAGS").split('\u{1f}').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = var("RUSTC_LINKER") {
        command.arg(format!("-Clinker={linker}"));
    }
    command.arg(format!("-Clink-arg={option}"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
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
