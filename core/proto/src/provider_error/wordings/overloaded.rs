//! The server has no room for anybody now: later, or on another model, the same request works.

use super::{wordings, words};

/// More telling than the status of a used-up allowance that comes with it.
pub(crate) const EXHAUSTED: &[&str] = &["model_capacity_exhausted"];

words! {
    "overloaded" {
        "Anthropic", "https://platform.claude.com/docs/en/api/errors", "overloaded_error", "Overloaded";
        "Moonshot", "https://forum.moonshot.ai/t/the-engine-is-currently-overloaded/569", "engine_overloaded_error",
            "The engine is currently overloaded, please try again later";
        "OpenAI", "https://github.com/anomalyco/opencode", "server_is_overloaded", "Our servers are busy.";
        "TGI", "https://huggingface.co/docs/text-generation-inference/messages_api", "overloaded", "Model is overloaded";
    }
    "unavailable" {
        "Gemini", "https://ai.google.dev/gemini-api/docs/troubleshooting", "UNAVAILABLE",
            "The model is overloaded. Please try again later.";
        "Bedrock", "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html",
            "ServiceUnavailableException", "Bedrock is unable to process your request.";
    }
    "capacity" {
        "Gemini (Code Assist)", "https://github.com/google-gemini/gemini-cli/issues/23520", "MODEL_CAPACITY_EXHAUSTED",
            "No capacity available for model gemini-3-pro on the server";
    }
    "slow_down" {
        "OpenAI", "https://platform.openai.com/docs/guides/error-codes", "slow_down", "Please reduce your request rate.";
    }
    "modelnotready" {
        "Bedrock", "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html",
            "ModelNotReadyException", "The model is not ready to serve inference requests.";
    }
}

wordings! {
    "overloaded" {
        "Anthropic", "https://platform.claude.com/docs/en/api/errors", "Overloaded";
        "Gemini", "https://ai.google.dev/gemini-api/docs/troubleshooting", "The model is overloaded. Please try again later.";
        "OpenAI", "https://platform.openai.com/docs/guides/error-codes",
            "The engine is currently overloaded, please try again later";
        "OpenAI", "https://rollbar.com/blog/chatgpt-model-is-overloaded-error/",
            "That model is currently overloaded with other requests. You can retry your request, or contact us if the error \
             persists.";
        "DeepSeek", "https://api-docs.deepseek.com/quick_start/error_codes", "Server overloaded";
        "Together", "https://docs.together.ai/docs/error-codes", "Engine Overloaded";
        "Z.ai", "https://docs.z.ai/api-reference/api-code", "The service may be temporarily overloaded, please try again later";
    }
    "service unavailable" {
        "Bedrock", "https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html",
            "Service Unavailable";
    }
    "temporarily unavailable" {
        "OpenRouter", "https://openrouter.ai/docs/api/reference/errors-and-debugging", "Provider temporarily unavailable";
    }
    "at capacity" {
        "OpenAI (Codex)", "https://github.com/openai/codex/issues/19446",
            "Selected model is at capacity. Please try a different model.";
    }
    "over capacity" {
        "Groq", "https://console.groq.com/docs/errors",
            "llama-3.3-70b-versatile is currently over capacity. Please try again later.";
    }
    "capacity exceeded for this model" {
        "Mistral", "https://github.com/continuedev/continue/issues/6185", "Service tier capacity exceeded for this model.";
    }
    "no capacity available" {
        "Gemini (Code Assist)", "https://github.com/google-gemini/gemini-cli/issues/23520",
            "No capacity available for model gemini-3-pro on the server";
    }
    "capacity temporarily exceeded" {
        "Cloudflare", "https://developers.cloudflare.com/workers-ai/platform/errors/",
            "Capacity temporarily exceeded, please try again.";
    }
    "server is busy" {
        "unnamed", "https://docs.geekai.co/en/docs/error_codes", "The server is busy. Please try again later.";
    }
    "server busy" {
        "Ollama", "https://github.com/valentinfrlch/ha-llmvision/issues/648",
            "server busy, please try again.  maximum pending requests exceeded";
    }
    "service is too busy" {
        "DeepSeek", "https://api-docs.deepseek.com/quick_start/error_codes",
            "Service is too busy. We advise users to temporarily switch to alternative LLM API service providers.";
    }
    "model too busy" {
        "Hugging Face", "https://huggingface.co/docs/inference-providers",
            "Model too busy, unable to get response in less than 60 second(s)";
    }
    "model*is currently loading" {
        "Hugging Face", "https://huggingface.co/docs/inference-providers", "Model acme/llama is currently loading";
    }
    "loading model" {
        "llama.cpp", "https://github.com/ggml-org/llama.cpp (tools/server)", "Loading model";
    }
    "currently experiencing high" {
        "Gemini", "https://ai.google.dev/gemini-api/docs/troubleshooting",
            "This model is currently experiencing high demand. Spikes in demand are usually temporary. Please try again later.";
    }
}
