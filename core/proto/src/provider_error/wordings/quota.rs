//! Money or allowance is used up: the same request works again only when somebody pays, or when the period is over.

use super::{wordings, words};

words! {
    "insufficient_quota" {
        "OpenAI", "https://platform.openai.com/docs/guides/error-codes", "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details.";
    }
    "exceeded_current_quota" {
        "Moonshot", "https://platform.moonshot.ai/docs/api/chat", "exceeded_current_quota_error",
            "Your account is suspended, please check your plan and billing details";
    }
    "billing" {
        "Anthropic", "https://platform.claude.com/docs/en/api/errors", "billing_error", "There is an issue with your billing.";
    }
    "payment_required" {
        "unnamed", "not recorded", "payment_required", "The request failed.";
    }
    "insufficient_balance" {
        "MiniMax", "https://github.com/modelscope/modelscope/issues/1691", "insufficient_balance_error",
            "insufficient balance (1008)";
        "Venice", "https://github.com/veniceai/api-docs/pull/149", "INSUFFICIENT_BALANCE", "The request failed.";
    }
    "usagelimiterror" {
        "OpenCode Zen", "https://github.com/anomalyco/opencode", "FreeUsageLimitError", "The request failed.";
    }
    "usage_limit_reached" {
        "OpenAI (Codex)", "https://github.com/openai/codex", "usage_limit_reached", "The usage limit has been reached";
    }
    "usage_not_included" {
        "OpenAI (Codex)", "https://github.com/anomalyco/opencode", "usage_not_included", "The request failed.";
    }
    "creditlimitexceeded" {
        "OpenCode Zen", "https://github.com/anomalyco/opencode", "CreditLimitExceeded", "The request failed.";
    }
    "arrearage" {
        "DashScope", "https://www.alibabacloud.com/help/en/model-studio/error-code", "Arrearage",
            "Access denied, please make sure your account is in good standing.";
    }
    "freetieronly" {
        "DashScope", "https://www.alibabacloud.com/help/en/model-studio/error-code", "AllocationQuota.FreeTierOnly",
            "The free tier of the model has been exhausted. If you wish to continue access the model on a paid basis, please \
             disable the \"use free tier only\" mode in the management console.";
    }
}

wordings! {
    "credit balance is too low" {
        "Anthropic", "https://platform.claude.com/docs/en/api/errors",
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase \
             credits.";
    }
    "insufficient balance" {
        "DeepSeek", "https://api-docs.deepseek.com/quick_start/error_codes", "Insufficient Balance";
        "MiniMax", "https://github.com/MiniMax-AI/MiniMax-M2/issues/62", "insufficient balance (1008)";
        "Z.ai", "https://docs.z.ai/api-reference/api-code",
            "Insufficient balance or no resource package. Please recharge.";
        "Moonshot", "https://github.com/anomalyco/opencode/issues/24462",
            "Your account o <ak> is suspended due to insufficient balance, please recharge your account or check your plan \
             and billing details";
    }
    "not_enough_balance" {
        "Novita (by Hugging Face)", "https://github.com/huggingface/hub-docs/issues/2392", "NOT_ENOUGH_BALANCE";
    }
    "insufficient credit" {
        "OpenRouter", "https://openrouter.ai/docs/api/reference/errors-and-debugging",
            "Insufficient credits. Add more using https://openrouter.ai/settings/credits";
    }
    "insufficient funds" {
        "unnamed", "not recorded", "Insufficient funds";
    }
    "insufficient_quota" {
        "LiteLLM", "https://docs.litellm.ai/docs/exception_mapping", "litellm.BadRequestError: {'code': 'insufficient_quota'}";
    }
    "requires more credits" {
        "OpenRouter", "https://github.com/can1357/oh-my-pi/issues/9569",
            "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford \
             2048.";
    }
    "prompt tokens limit exceeded: # > #" {
        "OpenRouter", "https://github.com/continuedev/continue/issues/11540",
            "Prompt tokens limit exceeded: 36163 > 29652. To increase, visit https://openrouter.ai/settings/credits and upgrade \
             to a paid account";
    }
    "not enough credits" {
        "unnamed", "not recorded", "There are not enough credits.";
    }
    "out of credits" {
        "xAI", "https://github.com/luxus/pi-xai/issues/10", "You have run out of credits or need a Grok subscription.";
    }
    "used all available credits" {
        "xAI", "https://github.com/continuedev/continue/issues/10373",
            "Your team 16f2151a-40f4-4a80-8ad0-cae00c27e8dd has either used all available credits or reached its monthly \
             spending limit. To continue making API requests, please purchase more credits or raise your spending limit.";
    }
    "exceeded your monthly included credits" {
        "Hugging Face", "https://github.com/huggingface/agents-course/issues/386",
            "You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get 20x more monthly \
             included credits.";
    }
    "spending limit" {
        "Together", "https://docs.together.ai/docs/error-codes",
            "The account associated with the API key has reached its maximum allowed monthly spending limit.";
        "Fireworks", "https://github.com/pollinations/pollinations/issues/12136",
            "Account a is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices. \
             Please go to https://fireworks.ai/account/billing for more information.";
    }
    "billing hard limit" {
        "OpenAI", "https://platform.openai.com/docs/guides/error-codes", "Billing hard limit has been reached";
    }
    "account is in arrears" {
        "Z.ai", "https://docs.z.ai/api-reference/api-code", "Your account is in arrears, please recharge and try again";
    }
    "\u{8d26}\u{6237}\u{5df2}\u{6b20}\u{8d39}" {
        "Z.ai (bigmodel.cn)", "https://docs.bigmodel.cn/cn/api/api-code",
            "\u{60a8}\u{7684}\u{8d26}\u{6237}\u{5df2}\u{6b20}\u{8d39}\u{ff0c}\u{8bf7}\u{5145}\u{503c}\u{540e}\u{91cd}\u{8bd5}";
    }
    "reached your usage limit for this" {
        "Kimi Code", "https://www.kimi.com/code/docs/en/kimi-code/error-reference.html",
            "You've reached your usage limit for this billing cycle";
    }
    "exceeded budget" {
        "LiteLLM", "https://docs.litellm.ai/docs/proxy/users",
            "ExceededBudget: User=u has exceeded budget! Current cost: 0.2, Max budget: 0.1";
    }
    "budget has been exceeded" {
        "LiteLLM", "https://docs.litellm.ai/docs/proxy/users", "Budget has been exceeded! Current cost: 10.2, Max budget: 10.0";
    }
    "reached your @ usage limit" {
        "Ollama", "https://github.com/continuedev/continue/issues/9233",
            "you've reached your hourly usage limit, please wait or upgrade to continue";
        "Ollama", "https://github.com/continuedev/continue/issues/11444",
            "you (ae2055838) have reached your session usage limit, upgrade for higher limits: https://ollama.com/upgrade";
        "Ollama", "https://github.com/HomericIntelligence/Scylla/issues/346",
            "you've reached your weekly usage limit, please wait or upgrade to continue";
    }
    "usage limit exceeded" {
        "MiniMax", "https://github.com/MiniMax-AI/MiniMax-M2.7/issues/36",
            "usage limit exceeded, 5-hour usage limit reached for Token Plan Starter (0/0 used), resets at \
             2026-05-15T15:00:00Z (2056)";
    }
    "balance is insufficient" {
        "SiliconFlow", "https://github.com/FoundationAgents/OpenManus/issues/438",
            "The selected model requires paid balance. Your paid balance is insufficient. Please top up and try again.";
    }
    "insufficient account funds" {
        "Xiaomi", "https://github.com/XiaomiMiMo/MiMo/issues/99", "Upstream request failed: Insufficient account funds";
    }
    "insufficient account balance" {
        "Xiaomi", "https://github.com/XiaomiMiMo/MiMo/issues/99", "Insufficient account balance";
    }
    "reached the set inference limit" {
        "Volcengine Ark", "https://github.com/volcengine/MineContext/issues/328",
            "Your account [2100000000] has reached the set inference limit for the [doubao-seed-1-6-flash] model, and the \
             model service has been paused. To continue using this model, please visit the Model Activation page to adjust \
             or close the \"Safe Experience Mode\".";
    }
    "too many tokens per day" {
        "Bedrock", "https://github.com/Ivy-Interactive/Ivy-Tendril/issues/1756",
            "Too many tokens per day, please wait before trying again.";
    }
    "daily request limit reached" {
        "Baidu", "https://github.com/zhayujie/CowAgent/issues/1462", "Open api daily request limit reached";
    }
    "free quota used" {
        "a gateway", "https://github.com/Gitlawb/openclaude/issues/1554",
            "Free quota used (30 requests / 5h). Resets at 10:00 UTC. Top up for unlimited access.";
    }
    "exceeded current quota" {
        "Moonshot", "https://github.com/MoonshotAI/Kimi-K2/issues/5",
            "Your account o is not active, organization o exceeded current quota, please check your plan and billing details";
    }
    "exceeded your premium request" {
        "GitHub Copilot", "https://github.com/microsoft/vscode-copilot-release/issues/12785",
            "You have exceeded your premium request allowance. Enable additional paid premium requests to continue using \
             premium models.";
    }
    "exhausted your premium" {
        "GitHub Copilot", "https://github.com/microsoft/vscode-copilot-release/issues/12804",
            "You've exhausted your premium model quota. Please enable additional paid premium requests, upgrade to Copilot \
             Pro+, or wait for your allowance to renew.";
    }
    "reached your monthly" {
        "GitHub Copilot", "https://github.com/microsoft/vscode-copilot-release/issues/9089",
            "You've reached your monthly chat messages quota.";
        "GitHub Copilot", "https://github.com/microsoft/vscode-copilot-release/issues/13608",
            "You have reached your monthly limit for premium requests";
    }
    "\u{4f59}\u{989d}\u{4e0d}\u{8db3}" {
        "Z.ai (bigmodel.cn)", "https://github.com/continuedev/continue/issues/11823",
            "\u{4f59}\u{989d}\u{4e0d}\u{8db3}\u{6216}\u{65e0}\u{53ef}\u{7528}\u{8d44}\u{6e90}\u{5305},\u{8bf7}\u{5145}\
             \u{503c}\u{3002}";
    }
}
