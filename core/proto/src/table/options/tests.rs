use serde_json::json;

use super::*;
use crate::settings::Settings;

#[test]
fn each_option_has_its_own_name_and_a_documentation() {
    for (at, row) in all().enumerate() {
        assert!(row.doc.last().is_some_and(|line| line.ends_with('.')), "{}", row.name);
        assert!(!names().skip(at + 1).any(|name| name == row.name), "{} twice", row.name);
    }
}

#[test]
fn what_one_model_call_has_no_use_for_is_known() {
    assert!(OF_THE_LOOP.iter().all(|option| names().any(|name| name == *option)));
    let of_both = all().filter(|row| row.group == Group::Loop && !OF_THE_LOOP.contains(&row.name)).map(|row| row.name);
    assert_eq!(of_both.collect::<Vec<_>>(), ["max_result_bytes"], "stored results are shortened in any request");
}

#[test]
fn null_sets_the_default_and_words_are_those_of_the_types() {
    let mut settings = Settings::default();
    for row in all() {
        let Type::Words(words) = row.kind else { continue };
        for word in words {
            assert!(settings.set_option(row.name, &json!(word), row.name).unwrap(), "{} {word}", row.name);
        }
        let error = settings.set_option(row.name, &json!("other"), row.name).unwrap_err();
        assert!(error.message().ends_with(&format!("{:?}, got \"other\"", words.last().unwrap())), "{error}");
    }
    assert_ne!(settings, Settings::default());
    for name in names() {
        let is_unknown_to_the_loop = AGENT.iter().chain(CONNECTION).any(|row| row.name == name);
        assert_eq!(settings.set_option(name, &Value::Null, name).unwrap(), !is_unknown_to_the_loop, "{name}");
    }
    assert_eq!(settings, Settings::default());
}
