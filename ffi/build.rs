//! Sets the soname of the shared library, and keeps the library loaded. The number in the soname is `AGENT_ABI_VERSION` of
//! `src/lib.rs`; a test compares both with the header.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux" | "android" | "freebsd" | "netbsd" | "openbsd") => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libagent.so.0");
            // Its threads may still run when a program calls dlclose().
            println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        }
        Ok("macos") => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libagent.0.dylib"),
        _ => {}
    }
}
