//! Names of tools as models misspell them. A model that was trained with other tools calls `functions.weather` or `getWeather`
//! where the tool is `get_weather`: <https://github.com/google-gemini/cookbook/issues/1374>,
//! <https://github.com/tontinton/maki/pull/518>. What may be another tool is not guessed: such a call gets an error result.

use super::config::Tools;

/// What models put before the name of a tool: as it was in their training.
const NAMESPACES: [&str; 5] = ["functions", "function", "tools", "tool", "default_api"];

/// What a namespace ends with. No tool has these in its name.
const ENDS: [char; 3] = ['.', ':', '/'];

impl Tools {
    /// The name of the tool that is meant where no tool has the given name: the only one whose name differs from it in nothing
    /// but case, separators and a namespace. `final_tool`: that of a typed final answer, if there is one.
    pub(super) fn meant<'a>(&'a self, given: &str, final_tool: Option<&'a str>) -> Option<&'a str> {
        if self.get(given).is_some() || final_tool == Some(given) {
            return None;
        }
        let bare = without_namespace(given);
        let names = self.descriptions().iter().map(|tool| tool.name.as_str()).chain(final_tool);
        let mut alike = names.filter(|name| letters(name).eq(letters(bare)));
        match (alike.next(), alike.next()) {
            (Some(name), None) if letters(bare).next().is_some() => Some(name),
            _ => None,
        }
    }
}

fn without_namespace(given: &str) -> &str {
    match given.split_once(ENDS) {
        Some((namespace, name)) if NAMESPACES.iter().any(|known| namespace.eq_ignore_ascii_case(known)) => {
            name.trim_start_matches(ENDS)
        }
        _ => given,
    }
}

/// A name without case and separators.
fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_is_corrected_only_where_one_tool_is_meant_for_sure() {
        let tools = |names: &[&str]| -> Tools {
            let specs = names.iter().map(|name| json!({ "name": name, "description": "A tool.", "parameters": {} }));
            serde_json::from_value(specs.collect()).unwrap()
        };
        let all = tools(&["get_weather", "sub-task", "a_b", "aB", "_"]);
        for (given, meant) in [
            ("functions.get_weather", Some("get_weather")),
            ("Tools::GetWeather", Some("get_weather")),
            ("default_api/get-weather", Some("get_weather")),
            ("GET WEATHER", Some("get_weather")),
            ("subTask", Some("sub-task")),
            // As it is.
            ("get_weather", None),
            ("aB", None),
            // Two are alike.
            ("ab", None),
            // Another namespace may be another server, another letter another tool.
            ("github.get_weather", None),
            ("functions.functions.get_weather", None),
            ("get_weathers", None),
            ("functions", None),
            ("functions.", None),
            ("", None),
        ] {
            assert_eq!(all.meant(given, None), meant, "{given}");
        }
        assert_eq!(tools(&[]).meant("t", None), None);
        assert_eq!(all.meant("FinalAnswer", Some("final_answer")), Some("final_answer"));
        assert_eq!(all.meant("final_answer", Some("final_answer")), None);
    }
}
