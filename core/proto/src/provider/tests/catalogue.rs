//! Known models: what is completed by them, which are found, and whether the data is right.

use serde_json::{Map, Value, json};

use super::{AZURE, LOCATION, PROJECT, error, found};
use crate::model_spec::ModelSpec;
use crate::provider::{Served, catalogue, models};
use crate::usage::Usage;

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
    assert_eq!(own.spec.cost.as_ref().unwrap().output, 0.0, "the prices are the user's as a whole");
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
fn found_e7_long_prompts_have_the_prices_of_their_tier() {
    let prices = |name: &str| found(json!(name), &[AZURE, PROJECT, LOCATION]).spec.cost.unwrap();
    let cost = |name: &str, input, cache_read, output| {
        let usage = Usage { input, output, cache_read, ..Usage::default() };
        (prices(name).cost(&usage).total * 1e6).round()
    };
    assert_eq!(cost("openai/gpt-5.5", 200_000, 100_000, 1_000), 2_145_000.0);
    assert_eq!(cost("openai/gpt-5.5-2026-04-23", 200_000, 100_000, 1_000), 2_145_000.0, "a version of it");
    assert_eq!(cost("openai/gpt-5.5", 200_000, 72_000, 1_000), 1_066_000.0, "272,000 tokens are not above 272,000");
    assert_eq!(cost("google/gemini-2.5-pro", 200_001, 0, 1_000), 515_003.0);
    assert_eq!(cost("xai/grok-4.3", 200_001, 0, 1_000), 505_003.0);
    assert_eq!(cost("minimax/MiniMax-M3", 512_001, 0, 1_000), 309_601.0);
    let tiered: Vec<_> = models().into_iter().filter(|m| m.cost.as_ref().is_some_and(|cost| !cost.tiers.is_empty())).collect();
    assert_eq!(tiered.len(), 49);
    for model in tiered {
        let cost = model.cost.clone().unwrap();
        for tier in &cost.tiers {
            let dearer = tier.input > Some(cost.input) && tier.output > Some(cost.output);
            assert!(dearer && tier.cache_read.is_some() && tier.cache_write.is_some(), "{}", model.name());
        }
    }
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
fn a_deployment_of_any_name_is_the_model_that_it_is_based_on() {
    let deployment =
        |base: &str| found(json!({ "provider": "azure-openai", "id": "my-deployment", "base_model": base }), &[AZURE]);
    let named = found(json!("azure-openai/gpt-5"), &[AZURE]);
    let unknown = found(json!("azure-openai/my-deployment"), &[AZURE]);
    assert_ne!(unknown.served.quirks, named.served.quirks, "or there is no difference to override");
    // In its own words, as a name, or by the vendor's name for it.
    for base in ["gpt-5", "azure-openai/gpt-5", "openai/gpt-5", "gpt-5-2025-08-07"] {
        let own = deployment(base);
        assert_eq!(own.served.quirks, named.served.quirks, "{base}");
        assert_eq!(own.served.base_url, unknown.served.base_url, "{base}");
        assert!(own.spec.cost.is_some(), "{base}");
        let as_named = ModelSpec { id: "gpt-5".into(), base_model: None, ..own.spec };
        assert_eq!(as_named, named.spec, "{base}");
    }
    let own =
        json!({ "provider": "azure-openai", "id": "d", "base_model": "gpt-5", "context_window": 7, "cost": { "input": 1.0 } });
    let own = found(own, &[AZURE]).spec;
    assert_eq!((own.context_window, own.cost.unwrap().output), (Some(7), 0.0), "what the user says wins");
}

#[test]
fn behind_a_name_of_one_s_own_what_the_model_can_do_is_known_and_what_it_costs_is_not() {
    let at = |provider: &str, protocol: &str, base: &str| {
        let spec = json!({
            "provider": provider, "id": "our-model", "protocol": protocol, "base_url": "https://llm.company.example",
            "base_model": base,
        });
        found(spec, &[])
    };
    let entry = catalogue::find("anthropic", "claude-opus-4-7").unwrap();
    // In the vendor's own format, what is true of the model holds wherever it is spoken.
    for provider in ["company", "anthropic", "openai-compatible"] {
        let claude = at(provider, "anthropic", "anthropic/claude-opus-4-7");
        assert_eq!(claude.spec.context_window, entry.context_window, "{provider}");
        assert_eq!((&claude.spec.cost, claude.spec.id.as_str()), (&None, "our-model"), "{provider}");
        assert_eq!((claude.quirk("thinking"), claude.quirk("temperature")), (json!("adaptive"), json!(false)), "{provider}");
    }
    // In a format that many speak, only what the model can do: how its own server is asked is not how this one is.
    let kimi = at("company", "openai_chat", "moonshot/kimi-k3");
    let plain = found(json!({ "provider": "company", "id": "m", "base_url": "http://h" }), &[]);
    assert_eq!(kimi.served.quirks, plain.served.quirks);
    assert!(kimi.spec.context_window.is_some() && kimi.spec.cost.is_none());
    let no_thinker = at("vllm", "openai_chat", "openai/gpt-4o");
    assert_eq!(no_thinker.quirk("thinking"), "none");
    // What was tuned at its vendor has another price.
    let tuned = found(json!({ "provider": "openai", "id": "ft:gpt-4.1:us::1", "base_model": "gpt-4.1" }), &[]);
    assert!(tuned.spec.context_window.is_some() && tuned.spec.cost.is_none());
    assert_eq!(tuned.quirk("long_cache"), true);
}

#[test]
fn a_base_model_that_is_not_known_is_refused() {
    let elsewhere = json!({ "provider": "azure-openai", "id": "m", "base_url": "http://h", "base_model": "opnai/gpt-5" });
    assert!(error(elsewhere).contains("base_model \"opnai/gpt-5\": the catalogue has no such model"), "its server has a gpt-5");
    for base in ["gpt-55", "openai/gpt-55", "opnai/gpt-5", "", "company/x"] {
        assert_eq!(
            error(json!({ "provider": "groq", "id": "m", "base_model": base })),
            format!(
                "model \"groq/m\": base_model {base:?}: the catalogue has no such model; give the name of one that it lists, for \
                 example \"openai/gpt-5\""
            )
        );
    }
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
    let lines: Vec<&str> = data.lines().skip(1).collect();
    assert_eq!(lines.len(), models.len(), "each line but the first is a model");
    for (line, model) in lines.iter().zip(&models) {
        assert_eq!(&serde_json::from_str::<ModelSpec>(line).unwrap(), model, "{line}");
    }
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
        if let Some(cost) = &model.cost {
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
