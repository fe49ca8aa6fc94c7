//! Has the functions exported (the crate of plugins, in `plugins`, has the same sources and exports none), sets the soname of the
//! shared library, keeps the library loaded, and has it linked small. The number in the soname is
//! `AGENT_ABI_VERSION` of `src/lib.rs`; a test compares both with the header.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(exports)");
    println!("cargo::rustc-cfg=exports");
    match var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux" | "android" | "freebsd" | "netbsd" | "openbsd") => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libagent.so.0");
            // Its threads may still run when a program calls dlclose().
            println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        }
        Ok("macos") => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libagent.0.dylib"),
        _ => {}
    }
    agent_loop_linker::shrink(agent_loop_linker::Linked::Library);
}
