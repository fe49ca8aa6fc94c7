//! The examples that are programs of a spec.

use std::process::Command;

/// A scripted model that has the calculator multiply.
const SPEC: &str = r#"
name = "calculator"

[model]
provider = "scripted"
id = "s"
script = [
  [{ delta = { tool_call = { id = "1", name = "calculator", arguments = { operation = "multiply", a = 15, b = 23 } } } },
   { end = "tool_use" }],
  [{ delta = "It is 345." }, { end = "stop" }],
]
"#;

#[test]
fn a_spec_of_few_lines_is_a_complete_agent() {
    let lines = include_str!("../src/agent.rs").lines().count();
    assert!(lines < 30, "{lines} lines");

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("agent.toml"), SPEC).unwrap();
    let call = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_calculator_agent"));
        let output = command.args(arguments).current_dir(&folder).env("AGENT_HOME", folder.path()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let calculated = "- calculator operation=multiply a=15 b=23\n".to_owned();
    assert_eq!(call(&["agent.toml", "15 times 23?"]), (Some(0), "It is 345.\n".to_owned(), calculated));
    let (code, help, _) = call(&["--help"]);
    assert_eq!(code, Some(0));
    assert!(help.contains("Usage: calculator_agent [OPTIONS]") && help.contains("chat"), "{help}");
}
