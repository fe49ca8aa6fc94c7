//! `new`: what it writes. That the projects run is tested where their languages are: tests/projects.py.

use serde_json::json;

use super::*;

#[test]
fn a_project_without_code_runs() {
    let place = Place::new();
    let called = place.call(&["new", "work/guide"]);
    let expected = "work/guide: agent.toml, README.md\ntry it: cd work/guide && agent agent.toml \"What is in this folder?\"\n";
    assert_eq!((called.code, called.out.as_str()), (0, expected), "{called:?}");
    let script = json!([calls("list_directory", json!({})), [{ "delta": "A README." }, { "end": "stop" }]]);
    let model = json!({ "provider": "scripted", "id": "s", "script": script }).to_string();
    let mut command = place.command(&["agent.toml", "--model", &model, "What is here?"]);
    command.current_dir(place.path("work/guide"));
    let called = super::called(command, "");
    assert_eq!((called.code, called.out.as_str(), called.err.as_str()), (0, "A README.\n", "- list_directory \n"));
}

#[test]
fn projects_in_other_languages_have_the_name_and_the_version() {
    let place = Place::new();
    for (flag, file) in [("--rust", "Cargo.toml"), ("--python", "agent.py"), ("--node", "package.json"), ("--toml", "agent.toml")]
    {
        let name = format!("in{flag}");
        assert_eq!(place.call(&["new", &name, flag]).code, 0);
        assert!(place.read(&format!("{name}/{file}")).contains(&format!("\"{name}\"")), "{flag}");
        for file in std::fs::read_dir(place.path(&name)).unwrap() {
            let path = file.unwrap().path();
            let text = if path.is_file() { std::fs::read_to_string(&path).unwrap() } else { String::new() };
            assert!(!text.contains("my-agent") && !text.contains("VERSION"), "{}", path.display());
        }
    }
}

#[test]
fn nothing_that_is_there_is_touched() {
    let place = Place::new();
    std::fs::create_dir(place.path("mine")).unwrap();
    let called = place.call(&["new", "mine"]);
    assert_eq!((called.code, called.err.as_str()), (2, "agent: mine is there already; choose another name\n"));
    assert_eq!(std::fs::read_dir(place.path("mine")).unwrap().count(), 0);
    for wrong in ["Weather", "2nd", "..", "a b"] {
        let called = place.call(&["new", wrong]);
        assert!(called.code == 2 && called.err.contains("is no name for an agent"), "{called:?}");
    }
    assert_eq!(place.call(&["new", "other", "--rust", "--node"]).code, 2);
    assert_eq!(place.call(&["new"]).code, 2);
}
