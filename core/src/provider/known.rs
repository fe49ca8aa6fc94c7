//! Vendors as data. Adding one is adding a row.

/// What is the same for all models of a vendor.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) name: &'static str,
    pub(crate) base_url: &'static str,
    /// The environment variable of its key.
    pub(crate) key_variable: &'static str,
    pub(crate) protocol: &'static str,
}

pub(crate) const PROVIDERS: &[Provider] = &[
    Provider {
        name: "anthropic",
        base_url: "https://api.anthropic.com",
        key_variable: "ANTHROPIC_API_KEY",
        protocol: "anthropic",
    },
    Provider { name: "openai", base_url: "https://api.openai.com", key_variable: "OPENAI_API_KEY", protocol: "openai_chat" },
];

pub(crate) fn provider(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}
