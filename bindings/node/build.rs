//! Prepares the linker for a module whose symbols Node provides, and has it linked small. Has the macros of napi write the types
//! of the module's exports to a file, from which `build.mjs` makes `native.d.ts`.

use std::path::Path;

fn main() {
    napi_build::setup();
    agent_loop_linker::shrink(agent_loop_linker::Linked::Library);
    let types = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/node-types");
    if let Err(error) = std::fs::create_dir_all(&types) {
        println!("cargo::warning={}: {error}", types.display());
    }
    println!("cargo::rustc-env=NAPI_TYPE_DEF_TMP_FOLDER={}", types.display());
}
