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
        "Ollama", "https://github.com/ollama/ollama/issues/15934",
            "Server overloaded, please retry shortly (ref: aaa65c70-cfa0-446b-86f1-4ab0e2deb9e4)";
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
    "experiencing high traffic" {
        "Cerebras", "https://github.com/sandialabs/atlas-ui-3/issues/111",
            "We're experiencing high traffic right now! Please try again soon.";
    }
    "temporarily out of capacity" {
        "Vertex", "https://github.com/googleapis/google-cloud-java/issues/11195",
            "Unable to submit request because the service is temporarily out of capacity. Try again later.";
    }
    "model busy" {
        "DeepInfra", "https://github.com/truefoundry/models/pull/862", "Model busy, retry later";
    }
    "degraded function cannot be invoked" {
        "NIM", "https://github.com/decolua/9router/issues/2527",
            "Function id '87ea0ddc-cff1-4bca-bf8b-3bd98a35ddd0': DEGRADED function cannot be invoked";
    }
    "\u{8bbf}\u{95ee}\u{91cf}\u{8fc7}\u{5927}" {
        "Z.ai (bigmodel.cn)", "https://github.com/zhukunpenglinyutong/jetbrains-cc-gui/issues/897",
            "\u{8be5}\u{6a21}\u{578b}\u{5f53}\u{524d}\u{8bbf}\u{95ee}\u{91cf}\u{8fc7}\u{5927}\u{ff0c}\u{8bf7}\u{60a8}\u{7a0d}\
             \u{540e}\u{518d}\u{8bd5}";
    }
    "\u{8d1f}\u{8f7d}\u{5df2}\u{9971}\u{548c}" {
        "a gateway", "https://github.com/labring/FastGPT/issues/1595",
            "\u{5f53}\u{524d}\u{4e0a}\u{6e38}\u{8d1f}\u{8f7d}\u{5df2}\u{9971}\u{548c}\u{ff0c}\u{8bf7}\u{7a0d}\u{540e}\u{518d}\
             \u{8bd5}\u{3002}";
    }
}
