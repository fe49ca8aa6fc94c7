//! The model, or the deployment of it, is not there, or not for this account.

use super::{wordings, words};

words! {
    "not_found" {
        "OpenAI", "https://platform.openai.com/docs/guides/error-codes", "model_not_found",
            "The model `gpt-9` does not exist or you do not have access to it.";
        "Anthropic", "https://platform.claude.com/docs/en/api/errors", "not_found_error", "model: claude-9";
        "Gemini", "https://ai.google.dev/gemini-api/docs/troubleshooting", "NOT_FOUND",
            "models/gemini-9 is not found for API version v1beta, or is not supported for generateContent.";
        "Moonshot", "https://platform.moonshot.ai/docs/api/chat", "resource_not_found_error",
            "Not found the model kimi-k2.5 or Permission denied";
        "Databricks", "https://docs.databricks.com/api/workspace/servingendpoints", "ENDPOINT_NOT_FOUND",
            "The endpoint is not there.";
    }
    "notfound" {
        "Azure", "https://learn.microsoft.com/azure/ai-foundry/openai/reference", "DeploymentNotFound",
            "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, \
             please wait a moment and try again.";
        "Bedrock", "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html",
            "ResourceNotFoundException", "Could not resolve the foundation model from the provided model identifier.";
        "vLLM", "https://github.com/vllm-project/vllm", "NotFoundError", "The model `m` does not exist.";
    }
    "does_not_exist" {
        "Databricks", "https://docs.databricks.com/api/workspace/servingendpoints", "RESOURCE_DOES_NOT_EXIST",
            "No such endpoint.";
    }
    "invalid_model" {
        "Mistral", "https://github.com/tmc/langchaingo/issues/1233", "invalid_model", "Invalid model: mistral-9";
        "Perplexity", "https://github.com/BerriAI/litellm/issues/37761", "invalid_model",
            "Invalid model 'sonar-9'. Permitted models can be found in the documentation at \
             https://docs.perplexity.ai/docs/models.";
    }
    "unknown_model" {
        "GitHub Models", "https://docs.github.com/github-models", "unknown_model", "Unknown model: gpt-9";
    }
    "model_not_available" {
        "Together", "https://github.com/HeyPuter/puter/issues/3168", "model_not_available",
            "Unable to access non-serverless model mistralai/Mixtral-8x7B-Instruct-v0.1. Please visit \
             https://api.together.ai/models/mistralai/Mixtral-8x7B-Instruct-v0.1 to create and start a new dedicated endpoint \
             for the model.";
    }
    "dedicated_endpoint_not_running" {
        "Together", "https://github.com/HeyPuter/puter/issues/3168", "dedicated_endpoint_not_running",
            "The dedicated endpoint for mistralai/Mixtral-8x22B-Instruct-v0.1 is not running. Please visit \
             https://api.together.ai/models to start the endpoint.";
    }
    "model_not_supported" {
        "Hugging Face", "https://huggingface.co/docs/inference-providers/hub-api", "model_not_supported",
            "The requested model 'a/b' is not supported by any provider you have enabled.";
        "watsonx", "https://cloud.ibm.com/apidocs/watsonx-ai", "model_not_supported",
            "Model 'a/b' is not supported for this environment";
    }
    "model_decommissioned" {
        "Groq", "https://console.groq.com/docs/deprecations", "model_decommissioned",
            "The model `gemma-7b-it` has been decommissioned and is no longer supported.";
    }
}

wordings! {
    "not a valid model" {
        "OpenRouter", "a recorded answer", "openai/gpt-nonexistent-routed-model is not a valid model ID";
    }
    "no endpoints found for" {
        "OpenRouter", "https://openrouter.ai/docs/api/reference/errors-and-debugging", "No endpoints found for acme/gpt-9.";
    }
    "model not exist" {
        "DeepSeek", "https://github.com/ConardLi/easy-dataset/issues/9", "Model Not Exist";
        "DashScope", "https://www.alibabacloud.com/help/en/model-studio/error-code", "Model not exist.";
    }
    "model*does not exist" {
        "OpenAI", "a recorded answer", "The model `gpt-5.2-proo` does not exist";
        "Z.ai", "https://docs.z.ai/api-reference/api-code", "Model does not exist, please check the model code";
        "xAI", "https://docs.x.ai/docs/key-information/debugging",
            "The model grok-9 does not exist or your team 8c268de0 does not have access to it.";
        "Volcengine Ark", "https://github.com/volcengine/MineContext/issues/328",
            "The model or endpoint doubao-embedding-large-text-240915 does not exist or you do not have access to it";
    }
    "\u{6a21}\u{578b}\u{4e0d}\u{5b58}\u{5728}" {
        "Z.ai (bigmodel.cn)", "https://docs.bigmodel.cn/cn/api/api-code",
            "\u{6a21}\u{578b}\u{4e0d}\u{5b58}\u{5728}\u{ff0c}\u{8bf7}\u{68c0}\u{67e5}\u{6a21}\u{578b}\u{4ee3}\u{7801}";
    }
    "model not found" {
        "xAI", "https://docs.x.ai/docs/key-information/debugging", "Model not found: grok-9";
        "Fireworks", "https://docs.fireworks.ai/guides/inference-error-codes",
            "Model not found, inaccessible, and/or not deployed";
    }
    "model '*' not found" {
        "Ollama", "https://github.com/ollama/ollama", "model 'llama9' not found";
        "Cohere", "https://docs.cohere.com/reference/errors",
            "model 'command-9' not found, make sure the correct model ID was used and that you have access to the model.";
    }
    "model \"*\" not found" {
        "Ollama", "https://github.com/ollama/ollama", "model \"llama9\" not found, try pulling it first";
    }
    "model `*` not found" {
        "unnamed", "not recorded", "model `llama9` not found";
    }
    "not found the model" {
        "Moonshot", "https://platform.moonshot.ai/docs/api/chat", "Not found the model kimi-latest or Permission denied";
    }
    "publisher model*was not found" {
        "Vertex", "a recorded answer",
            "Publisher Model `projects/p/locations/l/publishers/google/models/gemini-9` was not found or your project does not \
             have access to it.";
    }
    "models/* is not found for api version" {
        "Gemini", "a recorded answer",
            "models/gemini-9 is not found for API version v1beta, or is not supported for generateContent. Call ListModels to \
             see the list of available models.";
    }
    "unexpected model name format" {
        "Gemini", "https://ai.google.dev/gemini-api/docs/troubleshooting",
            "* GenerateContentRequest.model: unexpected model name format";
    }
    "model identifier is invalid" {
        "Bedrock", "https://github.com/RooCodeInc/Roo-Code/issues/10473", "The provided model identifier is invalid.";
    }
    "invalid model identifier" {
        "LM Studio", "https://lmstudio.ai/docs/developer/openai-compat",
            "Invalid model identifier \"qwen\". Please specify a valid downloaded model (e.g. qwen3-4b).";
    }
    "no models loaded" {
        "LM Studio", "https://lmstudio.ai/docs/developer/openai-compat",
            "No models loaded. Please load a model in the developer page or use the 'lms load' command.";
    }
    "could not resolve the foundation model" {
        "Bedrock", "https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html",
            "Could not resolve the foundation model from the provided model identifier.";
    }
    "invalid model name" {
        "LiteLLM", "https://github.com/BerriAI/litellm/issues/9663",
            "/chat/completions: Invalid model name passed in model=gpt-9. Call `/v1/models` to view available models for your \
             key.";
    }
    "invalid model: " {
        "Mistral", "https://github.com/tmc/langchaingo/issues/1233", "Invalid model: mistral-9";
    }
    "invalid model '" {
        "Perplexity", "https://github.com/BerriAI/litellm/issues/37761",
            "litellm.BadRequestError: PerplexityException - Invalid model 'perplexity/sonar'. Permitted models can be found in \
             the documentation at https://docs.perplexity.ai/docs/getting-started/models.. Received Model Group=pplx-sonar";
    }
    "unknown model" {
        "MiniMax", "https://platform.minimax.io/docs/api-reference/errorcode", "invalid params, unknown model 'minimax-9' (2013)";
        "Z.ai", "https://docs.z.ai/api-reference/api-code", "Unknown Model, please check the model code.";
        "Snowflake", "https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api", "unknown model \"llama9\"";
    }
    "unable to access non-serverless model" {
        "Together", "https://github.com/truefoundry/models/pull/919",
            "Unable to access non-serverless model MiniMaxAI/MiniMax-M2.5. Please visit https://api.together.ai/models to create \
             and start a new dedicated endpoint for the model.";
    }
    "requested model*is not supported" {
        "GitHub Copilot", "https://github.com/anomalyco/opencode/issues", "The requested model is not supported.";
        "Hugging Face", "https://huggingface.co/docs/inference-providers/hub-api",
            "The requested model 'a/b' is not supported by any provider you have enabled.";
    }
    "model*has been decommissioned" {
        "Groq", "https://console.groq.com/docs/deprecations",
            "The model `gemma-7b-it` has been decommissioned and is no longer supported. Please refer to \
             https://console.groq.com/docs/deprecations for a recommendation on which model to use instead.";
    }
    "api deployment for this resource does not exist" {
        "Azure", "https://learn.microsoft.com/azure/ai-foundry/openai/reference",
            "The API deployment for this resource does not exist.";
    }
    "given endpoint does not exist" {
        "Databricks", "https://docs.databricks.com/api/workspace/servingendpoints",
            "The given endpoint does not exist, please retry after checking the specified model and version deployment exists.";
    }
    "no such model" {
        "Cloudflare", "https://developers.cloudflare.com/workers-ai/platform/errors/", "No such model @cf/acme/llama-9 or task";
    }
    "not found for account" {
        "NIM", "https://github.com/Alishahryar1/free-claude-code/issues/1021",
            "Function '23d4f03a-b8a6-4adb-a183-7daa083a09cc': Not found for account \
             'Qawmu2vUw3rdcREnubcAVqe1c55nUTb1hCogKQx4BCA'";
    }
    "is not allowed to use publisher model" {
        "Vertex", "https://github.com/yym68686/uni-api/issues/41",
            "Project `p` is not allowed to use Publisher Model \
             `projects/p/locations/asia-southeast1/publishers/anthropic/models/claude-3-sonnet@20240229`";
    }
    "model '*' was removed" {
        "Cohere", "https://github.com/withceleste/celeste-python/issues/60",
            "model 'command-r' was removed on September 15, 2025";
    }
}
