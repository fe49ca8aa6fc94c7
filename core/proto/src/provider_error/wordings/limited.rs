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
    }
    "no deployments available for selected model" {
        "LiteLLM", "https://docs.litellm.ai/docs/routing",
            "No deployments available for selected model, Try again in 60 seconds. Passed model=gpt-4o";
    }
}
