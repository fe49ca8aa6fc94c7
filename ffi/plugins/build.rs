//! Has the functions not exported: `exports` is set by the C library's build script alone.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(exports)");
}
