//! The conversation does not fit into the model's context window.

use super::{wordings, words};

words! {
    "context_length_exceeded" {
        "OpenAI", "https://github.com/chathub-dev/chathub/issues/126", "context_length_exceeded",
            "This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens.";
    }
    "context_window_exceeded" {
        "Anthropic", "https://platform.claude.com/docs/en/build-with-claude/context-windows", "model_context_window_exceeded",
            "The request failed.";
    }
    "contextwindowexceeded" {
        "LiteLLM", "https://docs.litellm.ai/docs/exception_mapping", "ContextWindowExceededError", "The request failed.";
    }
    "exceed_context_size" {
        "llama.cpp", "https://github.com/ggml-org/llama.cpp/pull/15780", "exceed_context_size_error",
            "the request exceeds the available context size. try increasing the context size or enable context shift";
    }
    "context_overflow" {
        "a server that runs this library", "docs/errors.md", "context_overflow", "The request failed.";
    }
    "request_too_large" {
        "Anthropic", "https://platform.claude.com/docs/en/api/errors", "request_too_large", "Request exceeds the maximum size";
    }
    "too_many_prompt_tokens" {
        "Perplexity", "https://github.com/symfony/ai", "too_many_prompt_tokens", "The total length of all messages is too long.";
        "Perplexity", "https://github.com/Nayjest/ai-microcore", "too_many_prompt_tokens",
            "User input tokens exceeds 131072 tokens";
    }
    "tokens_limit_reached" {
        "GitHub Models", "https://github.com/eslint/tsc-meetings/pull/593", "tokens_limit_reached",
            "Request body too large for gpt-4o model. Max size: 8000 tokens.";
    }
    "token_quantity_exceeded" {
        "watsonx", "https://github.com/agno-agi/agno", "token_quantity_exceeded", "input token count is above the limit";
    }
    "max_prompt_tokens_exceeded" {
        "GitHub Copilot", "https://github.com/jjleng/copilot-more/issues/35 (the message)", "model_max_prompt_tokens_exceeded",
            "prompt token count of 93854 exceeds the limit of 90000";
    }
}

wordings! {
    "prompt is too long" {
        "Anthropic", "https://github.com/earendil-works/pi/issues/102", "prompt is too long: 219898 tokens > 200000 maximum";
        "Bedrock", "https://github.com/strands-agents/harness-sdk/pull/1663",
            "The model returned the following errors: prompt is too long: 903884 tokens > 200000 maximum";
    }
    "exceed context limit" {
        "Anthropic", "https://github.com/anthropics/claude-code/issues/4951",
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` \
             and try again";
        "Anthropic", "https://github.com/stackblitz/bolt.new/issues/7414",
            "input length and max_tokens exceed context limit: 90402 + 116650 > 204648, decrease input length or max_tokens and \
             try again";
    }
    "exceeds the maximum size" {
        "Anthropic", "https://platform.claude.com/docs/en/api/errors", "Request exceeds the maximum size";
    }
    "maximum context length" {
        "OpenAI", "https://github.com/bytedance/deer-flow/issues/310",
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 202868 tokens (202767 in \
             the messages, 101 in the functions). Please reduce the length of the messages or functions.";
        "DeepSeek", "https://github.com/evalstate/fast-agent/issues/621",
            "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, \
             8192 in the completion). Please reduce the length of the messages or completion.";
        "OpenRouter", "https://github.com/refly-ai/refly/issues/1177",
            "This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text \
             input). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt \
             automatically.";
        "vLLM", "https://github.com/vllm-project/vllm/issues/20409",
            "This model's maximum context length is 16384 tokens. However, you requested 19591 tokens (9591 in the messages, \
             10000 in the completion). Please reduce the length of the messages or completion. None";
        "vLLM", "https://github.com/cloudflare/cloudflare-docs/issues/29731",
            "This model's maximum context length is 131072 tokens. However, you requested 16000 output tokens and your prompt \
             contains at least 115073 input tokens, for a total of at least 131073 tokens. Please reduce the length of the input \
             prompt or reduce max_tokens.";
        "vLLM", "https://github.com/canfieldjuan/finetunelab.ai",
            "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 65536 tokens and \
             your request has 57879 input tokens (8192 > 65536 - 57879). None";
        "SGLang", "https://github.com/anomalyco/models.dev/pull/4422",
            "Requested token count exceeds the model's maximum context length of 256000 tokens. You requested a total of 256878 \
             tokens: 31216 tokens from the input messages and 225662 tokens for the completion.";
        "Mistral", "https://github.com/Nayjest/ai-microcore",
            "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length";
        "mlx-serve", "https://github.com/ddalcu/mlx-serve/issues/66", "Prompt exceeds maximum context length";
    }
    "max context length" {
        "Ollama", "a recorded answer of its cloud", "prompt too long; exceeded max context length by 4 tokens";
    }
    "prompt too long" {
        "Ollama", "a recorded answer of its cloud", "prompt too long; exceeded max context length by 4 tokens";
        "Z.ai", "https://github.com/anomalyco/opencode", "Prompt too long";
    }
    "prompt \u{8d85}\u{957f}" {
        "Z.ai (bigmodel.cn)", "https://github.com/anomalyco/opencode", "Prompt \u{8d85}\u{957f}";
    }
    "prompt exceeds" {
        "Z.ai", "https://github.com/zeroclaw-labs/zeroclaw/issues/4124", "Prompt exceeds max length";
    }
    "prompt*too long to fit" {
        "vLLM", "https://github.com/vllm-project/vllm/issues/12165",
            "The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure that \
             `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.";
    }
    "longer than the maximum model length" {
        "vLLM", "https://github.com/xorbitsai/inference/issues/3785",
            "The decoder prompt (length 17772) is longer than the maximum model length of 16384.";
        "vLLM", "https://github.com/hiyouga/LlamaFactory/issues/7723",
            "Prompt length of 5016 is longer than the maximum model length of 4096.";
    }
    "longer than the model's context" {
        "SGLang", "https://github.com/QwenLM/Qwen3/issues/1321",
            "The input (61709 tokens) is longer than the model's context length (40960 tokens).";
        "Novita", "https://github.com/anomalyco/opencode", "The input is longer than the model's context length.";
    }
    "exceeds the maximum allowed length" {
        "SGLang", "https://github.com/sgl-project/sglang/issues/4048",
            "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input or enable \
             --allow-auto-truncate.";
    }
    "maximum allowed input length" {
        "unnamed", "https://github.com/anomalyco/opencode", "The input exceeds the maximum allowed input length of 65536 tokens";
    }
    "input length #*exceeds*length" {
        "Volcengine Ark", "https://github.com/langgenius/dify/issues/32221",
            "Input length 203743 exceeds the maximum length 202752";
        "DeepInfra", "https://github.com/anomalyco/opencode", "Requested input length 40961 exceeds maximum input length 40960";
        "LM Studio", "https://github.com/lmstudio-ai/model-catalog/issues/38", "Input length 1581 exceeds context length 1500";
    }
    "prompt length (#) exceeds" {
        "TensorRT-LLM, NIM", "https://github.com/triton-inference-server/tensorrtllm_backend/issues/565",
            "Encountered an error when fetching new request: Prompt length (200) exceeds maximum input length (1)";
        "TensorRT-LLM", "https://github.com/triton-inference-server/tensorrtllm_backend/issues/141",
            "Cannot process new request: Prompt length (5056) exceeds maximum sequence length (2048)";
    }
    "prompt is # tokens long" {
        "SambaNova", "https://github.com/cline/cline/issues/294",
            "Requested generation length 1 is not possible! The provided prompt is 4309 tokens long, so generating 1 tokens \
             requires a sequence length of 4310, but the maximum supported sequence length is just 4096!";
    }
    "input is too long" {
        "Bedrock", "https://github.com/agno-agi/agno",
            "Input is too long for requested model.";
        "Bedrock", "https://github.com/openclaw/openclaw/issues/58839", "ModelStreamErrorException: Input is too long";
    }
    "number of input tokens exceed" {
        "Bedrock (Nova)", "https://github.com/anomalyco/opencode",
            "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.";
    }
    "too many input tokens" {
        "Bedrock (Titan)", "https://github.com/agno-agi/agno",
            "Too many input tokens. Max input tokens: 128000, request input token count: 140000";
    }
    "input token count*exceeds" {
        "Gemini", "https://github.com/google-gemini/gemini-cli/issues/6678",
            "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).";
        "Gemini", "https://github.com/arkavo-org/arkavo-edge/issues/371",
            "The input token count exceeds the maximum number of tokens allowed (1048576).";
    }
    "input token count is #*only supports up to #" {
        "Vertex", "https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/api-errors",
            "Unable to submit request because the input token count is 1107482 but model only supports up to 1048576. Reduce the \
             input token count and try again. You can also use the CountTokens API to calculate prompt token count and billable \
             characters.";
    }
    "input token count is above the limit" {
        "watsonx", "https://github.com/agno-agi/agno", "input token count is above the limit";
    }
    "request payload size exceeds the limit" {
        "Gemini", "https://ai.google.dev/gemini-api/docs/troubleshooting",
            "Request payload size exceeds the limit: 20971520 bytes.";
    }
    "input exceeds*context" {
        "OpenAI", "https://github.com/OpenHands/software-agent-sdk",
            "Your input exceeds the context window of this model. Please adjust your input and try again.";
        "Ollama", "https://github.com/ITSpecialist111/ai_automation_suggester/issues/37", "input exceeds context length";
    }
    "input tokens exceed the configured limit" {
        "OpenAI", "https://github.com/cline/cline/issues/5474",
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 289650 tokens. Please reduce \
             the length of the messages.";
    }
    "content': string too long" {
        "OpenAI (Responses)", "https://github.com/VectorlyApp/bluebox/issues/31",
            "Invalid 'input[0].content': string too long. Expected a string with maximum length 10485760, but got a string with \
             length 62114761 instead.";
        "OpenAI (Chat)", "https://github.com/gptscript-ai/clio/issues/41",
            "Invalid 'messages[17].content': string too long. Expected a string with maximum length 1048576, but got a string \
             with length 1744259 instead.";
    }
    "output': string too long" {
        "OpenAI (Responses)", "https://github.com/VectorlyApp/bluebox/issues/31 (of another field)",
            "Invalid 'input[3].output': string too long. Expected a string with maximum length 10485760, but got a string with \
             length 10485999 instead.";
    }
    "string value length (#) exceeds the maximum allowed" {
        "DashScope", "https://github.com/QwenLM/qwen-code/issues/747",
            "String value length (20054016) exceeds the maximum allowed (20000000, from \
             `StreamReadConstraints.getMaxStringLength()`)";
    }
    "model max length exceeded" {
        "Moonshot", "https://github.com/open-webui/open-webui/issues/1141", "model max length exceeded, max length: 8192";
    }
    "maximum prompt length" {
        "xAI", "https://github.com/cline/cline/issues/3120",
            "This model's maximum prompt length is 131072 but the request contains 136973 tokens.";
    }
    "reduce the length of the messages" {
        "Groq", "https://console.groq.com/docs/errors", "Please reduce the length of the messages or completion.";
        "Cerebras", "https://github.com/cline/cline/issues/5140",
            "Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000";
    }
    "input token length too long" {
        "Moonshot", "https://platform.moonshot.ai/docs/api/errors", "Input token length too long";
    }
    "exceeded model token limit" {
        "Moonshot", "https://github.com/MoonshotAI/kimi-cli/issues/2011",
            "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)";
    }
    "exceed model token limit" {
        "Salesforce", "https://github.com/forcedotcom/Einstein-GPT-for-Developers/issues/228",
            "Request input tokens exceed model token limit. Reduce the input size.";
    }
    "context window exceed" {
        "unnamed", "not recorded", "model context window exceeded";
        "MiniMax", "https://github.com/MiniMax-AI/MiniMax-M2/issues/119", "invalid params, context window exceeds limit (2013)";
    }
    "contextwindowexceedederror" {
        "LiteLLM", "https://docs.litellm.ai/docs/exception_mapping",
            "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: the request does not fit. \
             Received Model Group=gpt-4o";
    }
    "context_length_exceeded" {
        "LiteLLM", "https://docs.litellm.ai/docs/exception_mapping",
            "litellm.BadRequestError: AzureException - {'error': {'code': 'context_length_exceeded'}}";
    }
    "model_context_window_exceeded" {
        "Anthropic", "https://platform.claude.com/docs/en/build-with-claude/context-windows",
            "the answer was cut: model_context_window_exceeded";
    }
    "exceeded this model context window limit" {
        "Cloudflare", "https://github.com/anomalyco/opencode",
            "5021: The estimated number of input and maximum output tokens (155740) exceeded this model context window limit \
             (128000).";
    }
    "range of input length should be" {
        "DashScope", "https://github.com/QwenLM/qwen-code/issues/98",
            "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]";
    }
    "cannot exceed the total tokens limit" {
        "watsonx", "https://github.com/agno-agi/agno",
            "Invalid input argument for Model 'meta-llama/llama-2-70b-chat': the number of input tokens 4098 cannot exceed the \
             total tokens limit 4096 for this model";
    }
    "too many tokens: total number of tokens" {
        "Cohere", "https://github.com/cohere-ai/sandbox-topically/issues/4",
            "too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a \
             shorter prompt or a smaller max_tokens value.";
    }
    "too many tokens: size limit exceeded" {
        "Cohere", "https://github.com/anomalyco/opencode",
            "too many tokens: size limit exceeded by 168512 tokens. The limit for this model is 132000 tokens.";
    }
    "tokens in request more than max tokens allowed" {
        "unnamed", "https://github.com/anomalyco/opencode", "Number of tokens in request more than max tokens allowed";
    }
    "max tokens of # exceeded" {
        "Snowflake", "https://github.com/posit-dev/positron/issues/11737", "max tokens of 200000 exceeded";
    }
    "`inputs` tokens + `max_new_tokens` must be" {
        "TGI", "https://github.com/opea-project/GenAIInfra/issues/487",
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1887 `inputs` tokens and 1024 \
             `max_new_tokens`";
        "TGI", "https://github.com/huggingface/llm-vscode/issues/94",
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 `inputs` tokens and 60 \
             `max_new_tokens`";
    }
    "`inputs` must have less than # tokens" {
        "TGI", "https://github.com/huggingface/text-generation-inference/issues/695",
            "Input validation error: `inputs` must have less than 1024 tokens. Given: 1168";
    }
    "inputs tokens + max_new_tokens must be" {
        "TGI", "https://github.com/opea-project/GenAIExamples/pull/340",
            "Input validation error: inputs tokens + max_new_tokens must be <= 2048";
    }
    "prompt_tokens (#) must be less than max_seq_len" {
        "SiliconFlow", "https://github.com/sjzar/chatlog/issues/30",
            "length of prompt_tokens (163280) must be less than max_seq_len (32768).";
    }
    "available context size" {
        "llama.cpp", "https://github.com/continuedev/continue/issues/9797",
            "the request exceeds the available context size, try increasing it";
        "llama.cpp", "https://github.com/ggml-org/llama.cpp/pull/15780",
            "request (2009 tokens) exceeds the available context size (512 tokens), try increasing it";
    }
    "context size has been exceeded" {
        "llama.cpp, LM Studio", "https://github.com/ggml-org/llama.cpp (tools/server)", "Context size has been exceeded.";
    }
    "configured context size" {
        "unnamed", "https://github.com/anomalyco/opencode",
            "Prompt has 40,000 tokens, but the configured context size is 32,768 tokens";
    }
    "tokens when context*overflows" {
        "LM Studio", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546",
            "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length \
             of only 32768 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter \
             input.";
        "LM Studio", "https://github.com/n4ze3m/page-assist/issues/356",
            "Trying to keep the first 6547 tokens when context overflows. However, the model is loaded with a context length of \
             only 4096 tokens, which is not enough.";
    }
    "greater than the context length" {
        "LM Studio", "https://github.com/franksec42/LmStudioToCursor",
            "The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with \
             a larger context length, or provide a shorter input";
    }
    "tokens*exceed context window" {
        "llama-cpp-python", "https://github.com/rllm-team/rllm/issues/55", "Requested tokens (516) exceed context window of 512";
    }
    "request body too large for*max size: # tokens" {
        "GitHub Models", "https://github.com/cline/cline/issues/2115",
            "Request body too large for gpt-4o model. Max size: 8000 tokens.";
    }
    "total length of all messages is too long" {
        "Perplexity", "https://github.com/symfony/ai", "The total length of all messages is too long.";
    }
    "input tokens exceeds # tokens" {
        "Perplexity", "https://github.com/Nayjest/ai-microcore", "User input tokens exceeds 131072 tokens";
    }
    "exceeded the service limit of # tokens" {
        "Writer", "https://github.com/stanford-crfm/helm/issues/1571",
            "Total number of tokens (prompt+generation) exceeded the service limit of 2048 tokens. Please make the prompt \
             shorter or reduce the number of tokens to generate.";
    }
    "context length exceeded" {
        "unnamed", "https://github.com/earendil-works/pi", "Context length exceeded";
        "Ollama", "https://github.com/openclaw/openclaw/issues/58839", "ollama: context length exceeded for llama3";
    }
    "prompt tokens (#) exceed model maximum" {
        "Bedrock (Mantle)", "https://github.com/BerriAI/litellm/pull/37862",
            "prompt tokens (400007) exceed model maximum (278528) for openai.gpt-5.5";
    }
    "input prompt (# tokens) is too long" {
        "vLLM", "https://github.com/hiyouga/LlamaFactory/issues/3241",
            "Input prompt (5556 tokens) is too long and exceeds limit of 2048";
        "vLLM", "https://github.com/QwenLM/Qwen/issues/807",
            "Input prompt (3916 tokens) is too long and exceeds the capacity of block_manager";
    }
    "sequence length is longer than the specified maximum" {
        "watsonx", "https://github.com/lancedb/lancedb/issues/1535",
            "Invalid input argument for Model 'ibm/slate-125m-english-rtrvr': Token sequence length is longer than the \
             specified maximum sequence length for this model (1336 > 512).";
    }
    "exceeds the max input token limit" {
        "Bedrock", "https://github.com/openclaw/openclaw/issues/58839",
            "ValidationException: Input exceeds the max input token limit";
    }
    "total tokens exceeds the model's max of #" {
        "Cohere", "https://github.com/openclaw/openclaw/issues/58839", "total tokens exceeds the model's max of 4096";
    }
    "is too large to process. increase the physical batch size" {
        "llama.cpp", "https://github.com/ggml-org/llama.cpp/issues/12295",
            "input is too large to process. increase the physical batch size";
    }
}
