//! Plugins of examples/plugin, which these tests compile.

use std::path::Path;

use serde_json::json;

use super::*;

/// Compiles a plugin of the examples, and gives its path.
fn plugin(place: &Place, name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let library = place.path(&format!("{name}.so"));
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC"]).arg(format!("-I{}", root.join("include").display()));
    command.arg(root.join(format!("examples/plugin/{name}.c"))).arg("-o").arg(&library);
    assert!(command.status().unwrap().success(), "{command:?}");
    library
}

#[test]
fn a_plugin_has_tools_and_hooks() {
    let place = Place::new();
    plugin(&place, "dice");
    let say = |text: &str| json!([{ "delta": text }, { "end": "stop" }]);
    let script = json!([calls("roll_dice", json!({ "dice": 3, "seed": 7 })), say("Rolled.")]);
    place.spec(&script, "");
    let called = place.call(&["agent.toml", "--json", "--plugin", "./dice.so", "Roll."]);
    assert_eq!(called.code, 0, "{called:?}");
    assert!(called.out.contains("3 dice: "), "{called:?}");
    // The key of a file is relative to the file.
    let script = json!([calls("roll_dice", json!({ "dice": 101 })), say("Too many.")]);
    place.spec(&script, "plugins = [\"dice.so\"]");
    let called = place.call(&["agent.toml", "--json", "Roll."]);
    assert_eq!(called.code, 0, "{called:?}");
    assert!(called.out.contains("at most 100 dice"), "{called:?}");
}

#[test]
fn a_model_may_be_a_plugins() {
    let place = Place::new();
    plugin(&place, "echo");
    let called = place.call(&["--plugin", "./echo.so", "--model", "echo/any", "Is there an echo?"]);
    assert_eq!((called.code, called.out.as_str()), (0, "Is there an echo?\n"), "{called:?}");
}

#[test]
fn what_is_no_plugin_is_explained() {
    let place = Place::new();
    let dice = plugin(&place, "dice");
    place.write("text.so", "no library");
    let whole = std::fs::read(&dice).unwrap();
    std::fs::write(place.path("cut.so"), &whole[..whole.len() / 8]).unwrap();
    place.spec(&says(&["Hi."]), "");
    for (given, why) in [
        ("dice.so", "plugin dice.so: a path with a folder is needed, such as ./plugin.so"),
        ("./none.so", "plugin ./none.so: there is no such file"),
        ("./", "plugin ./: a path with a folder is needed"),
        (shown(place.0.path()), "it is no file"),
        ("./text.so", "plugin ./text.so: it is no shared library"),
        ("./cut.so", "plugin ./cut.so: the file is cut off"),
    ] {
        let called = place.call(&["agent.toml", "--plugin", given, "Hi"]);
        assert_eq!((called.code == 0, called.err.contains(why)), (false, true), "{given}: {called:?}");
    }
    let called = place.call(&["agent.toml", "--plugin", "./dice.so", "--plugin", "./dice.so", "Hi"]);
    assert!(called.err.contains("plugin ./dice.so: there are two tools named \"roll_dice\""), "{called:?}");
}
