//! Gives the shared library its soname, and keeps it loaded. The number is `AGENT_ABI_VERSION` of `src/lib.rs`; a test holds all three together.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux" | "android" | "freebsd" | "netbsd" | "openbsd") => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libagent.so.0");
            // Its threads may still run when a program that loaded it with dlopen closes it.
            println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        }
        Ok("macos") => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libagent.0.dylib"),
        _ => {}
    }
}
