//! Too much in too short a time.

use super::{wordings, words};

/// The request alone is larger than what a minute allows: it never fits, however long one waits.
pub(crate) const NEVER_FITS: &[&str] = &["request too large for"];

words! {
    "rate_limit" {
        "OpenAI", "https://platform.openai.com/docs/guides/error-codes", "rate_limit_exceeded",
            "Rate limit reached for gpt-5 in organization o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.";
        "Groq", "https://github.com/continuedev/continue/issues/10218", "rate_limit_exceeded",
            "Request too large for model `llama-3.3-70b-versatile` in organization `o` service tier `on_demand` on tokens per \
             minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again.";
    }
    "rate_limited" {
        "Mistral", "https://github.com/cline/cline/issues/9085", "rate_limited", "Rate limit exceeded";
    }
    "ratelimit" {
        "Azure", "a recorded answer", "RateLimitReached", "have exceeded rate limit.";
    }
    "too_many_requests" {
        "Cohere", "https://docs.cohere.com/reference/errors", "too_many_requests", "You are past the limit.";
    }
    "throttl" {
        "Bedrock", "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html", "ThrottlingException",
            "Too many tokens, please wait before trying again.";
        "DashScope", "https://www.alibabacloud.com/help/en/model-studio/error-code", "Throttling.AllocationQuota",
            "Allocated quota exceeded, please increase your quota limit.";
    }
    "resource_exhausted" {
        "Gemini", "https://ai.google.dev/gemini-api/docs/troubleshooting", "RESOURCE_EXHAUSTED",
            "Resource has been exhausted (e.g. check quota).";
    }
}

wordings! {
    "rate limit" {
        "Anthropic", "https://platform.claude.com/docs/en/api/rate-limits",
            "This request would exceed your organization's rate limit of 40,000 input tokens per minute.";
        "Azure", "https://learn.microsoft.com/azure/ai-foundry/openai/quotas-limits",
            "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-10-21 have exceeded token rate \
             limit of your current OpenAI S0 pricing tier. Please retry after 5 seconds.";
        "Mistral", "https://github.com/cline/cline/issues/9085", "Rate limit exceeded";
        "Azure", "https://github.com/dyad-sh/dyad/issues/1849",
            "Your requests to gpt-5.1 for gpt-5.1 in East US 2 have exceeded the token rate limit for your current \
             AIServices S0 pricing tier. Please retry after 60 seconds.";
        "Mistral", "https://github.com/dnakov/anon-kode/issues/53", "Requests rate limit exceeded";
    }
    "ratelimit" {
        "LiteLLM", "https://docs.litellm.ai/docs/exception_mapping", "litellm.RateLimitError: slow down";
    }
    "too many requests" {
        "Kimi Code", "https://www.kimi.com/code/docs/en/kimi-code/error-reference.html", "We're receiving too many requests";
    }
    "throttl" {
        "DashScope", "https://www.alibabacloud.com/help/en/model-studio/error-code",
            "Requests throttling triggered: requests are being throttled.";
    }
    "too many tokens, please wait" {
        "Bedrock", "https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html",
            "Too many tokens, please wait before trying again.";
    }
    "resource has been exhausted" {
        "Gemini", "https://ai.google.dev/gemini-api/docs/troubleshooting", "Resource has been exhausted (e.g. check quota).";
    }
    "tokens per min" {
        "OpenAI", "https://github.com/vanna-ai/vanna-flask/issues/11",
            "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens \
             must be reduced in order to run successfully.";
        "Groq", "https://github.com/elizaOS/eliza/issues/4040",
            "Request too large for model `llama-3.1-8b-instant` in organization `o` service tier `on_demand` on tokens per \
             minute (TPM): Limit 6000, Requested 6294, please reduce your message size and try again.";
        "Cerebras", "https://github.com/continuedev/continue/issues/9800",
            "Tokens per minute limit exceeded - too many tokens processed.";
        "unnamed gateway", "https://github.com/Vizards/deepseek-v4-for-copilot/issues/279",
            "TPM (Tokens Per Minute) limit of the model deepseek-v4-flash is exceeded. Please try again later";
    }
    "no deployments available for selected model" {
        "LiteLLM", "https://docs.litellm.ai/docs/routing",
            "No deployments available for selected model, Try again in 60 seconds. Passed model=gpt-4o";
    }
    "rate limiting" {
        "SiliconFlow", "https://github.com/AIDotNet/OpenDeepWiki/issues/269",
            "Request was rejected due to rate limiting. Details: TPM limit reached.";
        "SiliconFlow", "https://github.com/jxq1997216/AITranslator/issues/32",
            "Request was rejected due to rate limiting. Details: RPH limit reached.";
    }
    "requests per min" {
        "Cerebras", "https://github.com/nminaya/grammar-nazi-bot/issues/958",
            "Requests per minute limit exceeded - too many requests sent.";
    }
    "request rate is too high" {
        "Bedrock", "https://github.com/aws-samples/well-architected-iac-analyzer/issues/32",
            "Your request rate is too high. Reduce the frequency of requests.";
    }
    "resource exhausted" {
        "Vertex", "https://github.com/google-gemini/gemini-cli/issues/15498",
            "Resource exhausted. Please try again later. Please refer to \
             https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details.";
    }
    "quota exceeded for aiplatform.googleapis.com" {
        "Vertex", "https://github.com/cline/cline/issues/651",
            "Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model with base model: \
             anthropic-claude-3-5-sonnet-v2. Please submit a quota increase request. \
             https://cloud.google.com/vertex-ai/docs/generative-ai/quotas-genai.";
    }
    "organization max rpm" {
        "Moonshot", "https://github.com/MoonshotAI/Kimi-K2/issues/34",
            "request reached organization max RPM: 3, please try again after 1 seconds";
    }
    "max organization concurrency" {
        "Moonshot", "https://github.com/LLM-Red-Team/kimi-cc/issues/16",
            "Your account o<ak> request reached max organization concurrency: 1, please try again after 1 seconds";
    }
    "high concurrency usage" {
        "Z.ai", "https://github.com/anomalyco/opencode/issues/9559",
            "High concurrency usage of this API, please reduce concurrency or contact customer service";
    }
    "\u{5e76}\u{53d1}\u{6570}\u{8fc7}\u{9ad8}" {
        "Z.ai (bigmodel.cn)", "https://github.com/anomalyco/opencode/issues/9789",
            "\u{60a8}\u{5f53}\u{524d}\u{4f7f}\u{7528}\u{8be5}API\u{7684}\u{5e76}\u{53d1}\u{6570}\u{8fc7}\u{9ad8}\u{ff0c}\
             \u{8bf7}\u{964d}\u{4f4e}\u{5e76}\u{53d1}\u{ff0c}\u{6216}\u{8054}\u{7cfb}\u{5ba2}\u{670d}\u{589e}\u{52a0}\u{9650}\
             \u{989d}\u{3002}";
    }
    "\u{901f}\u{7387}\u{9650}\u{5236}" {
        "Z.ai (bigmodel.cn)", "https://github.com/zai-org/GLM-5/issues/78",
            "\u{60a8}\u{7684}\u{8d26}\u{6237}\u{5df2}\u{8fbe}\u{5230}\u{901f}\u{7387}\u{9650}\u{5236}\u{ff0c}\u{8bf7}\u{60a8}\
             \u{63a7}\u{5236}\u{8bf7}\u{6c42}\u{9891}\u{7387}";
    }
}
