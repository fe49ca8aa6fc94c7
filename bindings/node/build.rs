//! Sets the linker up for a module that finds Node's symbols when it is loaded.

fn main() {
    napi_build::setup();
}
