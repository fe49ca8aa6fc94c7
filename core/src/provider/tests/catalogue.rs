//! Known models: what is completed by them, which are found, and whether the data is right.

use serde_json::{Map, Value, json};

use super::{AZURE, LOCATION, PROJECT, found};
use crate::provider::{ModelSpec, Served, catalogue, models};

#[test]
fn what_the_user_says_of_a_model_wins_field_by_field() {
    let entry = catalogue::find("anthropic", "claude-opus-4-7").unwrap();
    let plain = found(json!("anthropic/claude-opus-4-7"), &[]);
    assert_eq!(plain.spec.cost, entry.cost);
    assert_eq!((plain.spec.context_window, plain.spec.max_output_tokens), (entry.context_window, entry.max_output_tokens));
    assert_eq!((plain.spec.input, plain.spec.label), (entry.input.clone(), entry.label.clone()));
    assert_eq!(
        (plain.served.quirks.temperature, serde_json::to_value(plain.served.quirks.thinking).unwrap()),
        (false, json!("adaptive"))
    );

    let own = found(
        json!({
            "provider": "anthropic", "id": "claude-opus-4-7", "context_window": 5, "cost": { "input": 1.0 }, "thinking": true,
            "quirks": { "cache_tools": false },
        }),
        &[],
    );
    assert_eq!((own.spec.context_window, own.spec.max_output_tokens), (Some(5), entry.max_output_tokens));
    assert_eq!(own.spec.cost.unwrap().output, 0.0, "the prices are the user's as a whole");
    assert_eq!((own.quirk("temperature"), own.quirk("cache_tools")), (json!(false), json!(false)));
    assert_eq!(own.quirk("thinking"), "adaptive", "that it thinks does not say how");

    let off = found(
        json!({ "provider": "anthropic", "id": "claude-opus-4-7", "thinking": false, "quirks": { "temperature": true } }),
        &[],
    );
    assert_eq!((off.quirk("thinking"), off.quirk("temperature")), (json!("none"), json!(true)));
}

#[test]
fn an_unknown_model_works_and_has_no_price() {
    let unknown = found(json!("anthropic/claude-next"), &[]);
    assert_eq!(unknown.spec, ModelSpec::parse("anthropic/claude-next").unwrap());
    let not_given = found(json!("mistral/labs-devstral-small-2512"), &[]).spec;
    assert!(not_given.context_window.is_some() && not_given.cost.is_none(), "a price that is not given is not zero");
    assert_eq!(found(json!("openrouter/qwen/qwen3.8-27b:free"), &[]).spec.cost.unwrap().output, 0.0);
}

#[test]
fn at_another_address_the_limits_hold_and_the_prices_do_not() {
    let gateway = found(json!({ "provider": "openai", "id": "gpt-5", "base_url": "https://llm.company.example" }), &[]).spec;
    assert!(gateway.context_window.is_some() && gateway.input.is_some() && gateway.cost.is_none());
    // The spec that `models` gives has its prices with it.
    let listed = models().into_iter().find(|model| model.name() == "openai/gpt-5").unwrap();
    let mut listed = serde_json::to_value(listed).unwrap();
    listed["base_url"] = json!("https://llm.company.example");
    assert!(found(listed, &[]).spec.cost.is_some());
    // Known by its host, whatever it is called.
    let company = found(json!({ "provider": "company", "id": "gpt-5", "base_url": "https://api.openai.com" }), &[]).spec;
    assert!(company.cost.is_some());
    assert!(found(json!("azure-openai/gpt-5"), &[AZURE]).spec.cost.is_some());
}

#[test]
fn a_version_that_is_not_listed_is_the_model_it_is_a_version_of() {
    let id = |provider: &str, id: &str| catalogue::find(provider, id).map(|entry| entry.id);
    for (provider, asked, listed) in [
        ("anthropic", "claude-sonnet-4-5-20250929", Some("claude-sonnet-4-5-20250929")),
        ("anthropic", "claude-sonnet-4-5-20990101", Some("claude-sonnet-4-5")),
        ("anthropic", "claude-opus-5-latest", Some("claude-opus-5")),
        ("google-vertex", "claude-opus-4-6@default", Some("claude-opus-4-6")),
        ("openai", "gpt-5-2025-08-07", Some("gpt-5")),
        ("openai", "gpt-4o-2024-05-13", Some("gpt-4o-2024-05-13")),
        ("azure-openai", "o4-mini-2025-04-16", Some("o4-mini")),
        ("anthropic", "claude-sonnet-4-5-2025", None),
        ("anthropic", "-20250929", None),
        ("openai", "claude-opus-5", None),
        ("anthropic", "claude-opus-5\",\"label", None),
        ("anthropic", "", None),
    ] {
        assert_eq!(id(provider, asked).as_deref(), listed, "{provider}/{asked}");
    }
}

/// Sorted, whole, usable, of providers that are known, and without a quirk that its provider's row says already.
#[test]
fn each_line_of_the_catalogue_is_a_model_that_can_be_used() {
    let data = include_str!("../catalogue.jsonl");
    let models = models();
    assert_eq!(models.len() + 1, data.lines().count(), "each line but the first is a model");
    assert!(models.len() > 600);
    let names: Vec<_> = models.iter().map(|model| (model.provider.as_bytes(), model.id.as_bytes())).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "sorted by provider and id, none twice");
    for model in &models {
        let name = model.name();
        assert_eq!(catalogue::find(&model.provider, &model.id).as_ref(), Some(model), "{name} is found by its name");
        assert!(model.label.is_some() && model.context_window.is_some() && model.max_output_tokens.is_some(), "{name}");
        assert!(
            model.input.as_ref().is_some_and(|input| input.iter().all(|kind| matches!(kind.as_str(), "text" | "image"))),
            "{name}"
        );
        if let Some(cost) = model.cost {
            let free = name.ends_with(":free") || name.ends_with("/free");
            assert_eq!(cost.input > 0.0 && cost.cache_read > 0.0 && cost.cache_write > 0.0, !free, "{name} has a wrong zero");
        }
        let bare = ModelSpec { quirks: Map::new(), thinking: None, ..model.clone() };
        let variable = |name: &str| [AZURE, PROJECT, LOCATION].iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        let row = Served::of(&bare, None, &variable).unwrap_or_else(|error| panic!("{name}: {error}")).quirks;
        let row: Value = serde_json::to_value(row).unwrap();
        for (quirk, value) in &model.quirks {
            assert_ne!(row[quirk], *value, "{name}: {quirk} is said by the provider's row already");
        }
        if let Some(Value::String(style)) = &model.thinking {
            assert_ne!(row["thinking"], *style, "{name}: its thinking is said by the provider's row already");
        }
        assert_eq!(found(serde_json::to_value(model).unwrap(), &[AZURE, PROJECT, LOCATION]).spec, *model, "{name}");
    }
}
