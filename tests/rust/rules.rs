//! Each statement of the loop's contract has a scenario, or a test that is named here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use agent_loop_proto::table::codes;
use serde_json::Value;

/// What needs more than the scripted model: the file and the test.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("1.7", "core/proto/src/transcript/tests.rs", "thinking_and_signatures_go_only_to_their_own_model"),
    ("1.8", "tests/rust/wire.rs", "error_bodies_of_every_shape"),
    ("1.9", "tests/rust/wire.rs", "keys_are_not_in_debug_output"),
    ("4.7", "bindings/python/tests/test_context.py", "test_found_e16_what_middleware_sets_reaches_the_tool"),
    ("4.7b", "tests/rust/causes.rs", "found_e15_middleware_gets_the_error_of_the_tool_and_of_links_inside"),
    ("4.8", "tests/c/test_process.c", "found_e3_a_call_fails_without_a_thread"),
    ("9.1", "core/proto/tests/scenarios/main.rs", "plays_the_same_saved_and_loaded"),
    ("9.1b", "core/proto/src/machine/tests/saved.rs", "a_loop_of_another_version_is_refused"),
    ("9.1c", "core/proto/src/machine/tests/saved.rs", "no_key_and_no_header_is_saved"),
];

/// Statements of the contract that are not implemented yet.
const PLANNED: &[&str] = &[
    "10.1", // sessions
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The scenarios of each rule.
fn scenarios() -> BTreeMap<String, Vec<String>> {
    let mut scenarios: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in std::fs::read_dir(root().join("tests/scenarios")).unwrap().map(Result::unwrap) {
        let path = entry.path().join("scenario.json");
        if path.exists() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let rules = json(&path)["rules"].as_array().cloned().unwrap_or_default();
            assert!(!rules.is_empty(), "{name} names no rule");
            for rule in rules {
                scenarios.entry(rule.as_str().unwrap().to_owned()).or_default().push(name.clone());
            }
        }
    }
    scenarios
}

#[test]
fn each_rule_has_a_scenario() {
    let rules = json(&root().join("tests/scenarios/rules.json"));
    let rules: BTreeSet<&String> = rules.as_object().unwrap().keys().collect();
    let scenarios = scenarios();
    let count: usize = scenarios.values().map(Vec::len).sum();
    assert!(count >= 80, "{count}");
    let unknown: Vec<&String> = scenarios.keys().filter(|rule| !rules.contains(rule)).collect();
    assert!(unknown.is_empty(), "scenarios name rules that are not in rules.json: {unknown:?}");
    for (rule, file, test) in ELSEWHERE {
        assert!(rules.contains(&(*rule).to_owned()), "{rule} is no rule");
        let text = std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(text.contains(&format!(" {test}(")), "{file} has no test {test}");
    }
    let is_elsewhere = |rule: &str| ELSEWHERE.iter().any(|(elsewhere, ..)| *elsewhere == rule);
    let gaps: Vec<&&String> = rules.iter().filter(|rule| !scenarios.contains_key(**rule) && !is_elsewhere(rule)).collect();
    assert!(gaps.is_empty(), "rules without a scenario: {gaps:?}");
}

/// The rules are numbered as the contract is: section, then the number of its item or bullet.
#[test]
fn each_statement_of_the_contract_has_a_rule() {
    let path = root().join("../shared/loop-contract.md");
    let Ok(contract) = std::fs::read_to_string(&path) else {
        println!("skipped: the contract is not beside this repository");
        return;
    };
    let rules = json(&root().join("tests/scenarios/rules.json"));
    let numbers: BTreeSet<String> = rules
        .as_object()
        .unwrap()
        .keys()
        .map(|rule| rule.trim_end_matches(|c: char| c.is_ascii_lowercase()).to_owned())
        .collect();
    for section in contract.split("\n## ").skip(1) {
        let number: u32 = section.split('.').next().unwrap().parse().unwrap();
        let bullets = section.lines().filter(|line| line.starts_with("- ")).count();
        let items =
            section.lines().skip(1).filter(|line| line.split_once(". ").is_some_and(|(n, _)| n.parse::<u32>().is_ok())).count();
        // Sections 1, 8 and 9 are prose; before the second's bullets stand its grammar and its table.
        let statements = match number {
            1 | 8 | 9 => 1,
            2 => bullets + 2,
            3 => items,
            _ => bullets,
        };
        assert!(statements > 0, "section {number} of the contract has no statements");
        for statement in 1..=statements {
            let rule = format!("{number}.{statement}");
            let planned = PLANNED.contains(&rule.as_str());
            assert!(numbers.contains(&rule) != planned, "the contract's {rule}: has it a rule, or is it planned?");
        }
        if !matches!(number, 1 | 8 | 9) {
            let beyond = format!("{number}.{}", statements + 1);
            assert!(!numbers.contains(&beyond), "{beyond} is in rules.json and not in the contract");
        }
    }
}

/// The codes of all diagnostics in a scenario's events, with the fields of their data.
fn diagnostics(value: &Value, out: &mut BTreeMap<String, BTreeSet<String>>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| diagnostics(item, out)),
        Value::Object(map) => {
            if let (Some("diagnostic"), Some(code)) = (map.get("type").and_then(Value::as_str), map.get("code")) {
                let data = map.get("data").and_then(Value::as_object);
                let fields = data.into_iter().flat_map(|data| data.keys().cloned());
                out.entry(code.as_str().unwrap().to_owned()).or_default().extend(fields);
            }
            map.values().for_each(|value| diagnostics(value, out));
        }
        _ => {}
    }
}

#[test]
fn the_table_names_the_data_of_each_diagnostic() {
    let mut seen = BTreeMap::new();
    for entry in std::fs::read_dir(root().join("tests/scenarios")).unwrap().map(Result::unwrap) {
        let path = entry.path().join("expected.json");
        if path.exists() {
            diagnostics(&json(&path), &mut seen);
        }
    }
    let mut compared = 0;
    for row in codes::DIAGNOSTICS {
        // What a field is stands after a colon, and may have a word in backticks of its own.
        let named: BTreeSet<String> = row.data.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        if let Some(fields) = seen.get(row.word) {
            assert_eq!(fields, &named, "the data of {}", row.word);
            compared += 1;
        }
    }
    assert!(compared >= 7, "scenarios have {compared} of the codes");
}
