"""The known models."""

import agent_loop
from agent_loop import Agent


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


def test_the_quirks_of_a_model_are_listed():
    models = agent_loop.models()
    kimi = next(model for model in models if (model["provider"], model["id"]) == ("moonshot", "kimi-k3"))
    assert kimi["thinking"] == "effort"
    assert kimi["quirks"] == {"efforts": ["low", "high", "max"], "thinking_off": False}
