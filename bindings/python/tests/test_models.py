"""The known models."""

import agent_loop
import pytest
from agent_loop import Agent
from agent_loop.options import ModelSpec


def test_the_known_models_are_listed_and_each_can_be_used_as_it_is():
    models = agent_loop.models()
    assert len(models) > 600
    gpt = next(model for model in models if (model["provider"], model["id"]) == ("openai", "gpt-5"))
    assert (gpt["label"], gpt["context_window"], gpt["max_output_tokens"]) == ("GPT-5", 400_000, 128_000)
    assert (gpt["input"], gpt["thinking"]) == (["text", "image"], True)
    assert list(gpt["cost"]) == ["input", "output", "cache_read", "cache_write"]
    assert gpt["cost"]["input"] > gpt["cost"]["cache_read"]
    assert any("cost" not in model for model in models), "a price that is not known is missing"
    for model in models:
        Agent({**model, "base_url": "http://127.0.0.1:1", "project": "p", "location": "global"})


def test_found_e7_prices_have_tiers():
    models = agent_loop.models()
    gpt = next(model for model in models if (model["provider"], model["id"]) == ("openai", "gpt-5.5"))
    [tier] = gpt["cost"]["tiers"]
    assert list(tier) == ["above", "input", "output", "cache_read", "cache_write"]
    assert (tier["above"], tier["input"], tier["output"]) == (272_000, 10, 45)
    spec: ModelSpec = {
        "provider": "scripted",
        "id": "a",
        "cost": {"input": 1, "tiers": [{"above": 10, "input": 2}]},
        "script": [[{"delta": "Hello."}, {"end": {"usage": {"input": 11, "output": 0}}}]],
    }
    assert Agent(spec).prompt_sync("Hi.").usage.cost.total == 0.000022
    with pytest.raises(agent_loop.InvalidArgumentError, match='unknown field of a price tier "abvoe"; did you mean "above"'):
        Agent({**spec, "cost": {"input": 1, "tiers": [{"abvoe": 10, "input": 2}]}})
    with pytest.raises(agent_loop.InvalidArgumentError, match="above"):
        Agent({**spec, "cost": {"input": 1, "tiers": [{"input": 2}]}})


def test_the_quirks_of_a_model_are_listed():
    models = agent_loop.models()
    kimi = next(model for model in models if (model["provider"], model["id"]) == ("moonshot", "kimi-k3"))
    assert kimi["thinking"] == "effort"
    assert kimi["quirks"] == {"efforts": ["low", "high", "max"], "thinking_off": False}
