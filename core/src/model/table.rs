//! The models that a run may ask: the driver knows the model, its loop the number in a table.

use std::sync::Arc;

use agent_loop_proto::machine::ModelEntry;

use super::interface::Model;

/// A model that a run may ask.
#[derive(Clone)]
pub(crate) struct ResolvedModel {
    pub(crate) model: Arc<dyn Model>,
    /// Whether the agent's key and headers are for it: it is served where the agent's own model is.
    pub(crate) takes_keys: bool,
}

/// The loop's entry for a model, with its key in the table.
pub(crate) fn add_model(models: &mut Vec<ResolvedModel>, resolved: ResolvedModel) -> ModelEntry {
    let is_same = |known: &ResolvedModel| {
        std::ptr::addr_eq(Arc::as_ptr(&known.model), Arc::as_ptr(&resolved.model)) && known.takes_keys == resolved.takes_keys
    };
    let key = models.iter().position(is_same).unwrap_or(models.len());
    let info = resolved.model.info();
    let mut entry = ModelEntry::new(u32::try_from(key).unwrap_or(u32::MAX), info.provider, info.protocol, info.id);
    entry.prices = info.prices;
    entry.constraints = resolved.model.constraints();
    entry.encoder = resolved.model.encoder();
    if key == models.len() {
        models.push(resolved);
    }
    entry
}
