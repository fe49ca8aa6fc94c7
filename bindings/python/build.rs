//! Has the module linked small.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    agent_loop_linker::shrink(agent_loop_linker::Linked::Library);
}
