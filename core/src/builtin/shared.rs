//! What the tools of an agent have in common.

use std::path::PathBuf;
use std::sync::Arc;

use super::options::BuiltinOptions;
use super::root::Root;
use crate::error::Error;
use crate::provider::ModelSpec;
use crate::tool::Tool;

/// The types of images that models take.
pub(super) const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// What makes a tool gives: an error would be a mistake in its description.
pub(super) type MadeTool = Result<Arc<dyn Tool>, Error>;

/// The folder they stay in, and their options.
pub(crate) struct Shared {
    pub(crate) root: Root,
    /// The model that `oracle` asks, unless it is the agent's.
    pub(super) oracle: Option<ModelSpec>,
    pub(crate) options: BuiltinOptions,
}

impl Shared {
    /// The path of the root, absolute and without links: for processes, which need one.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub(super) fn folder(&self) -> Result<PathBuf, Error> {
        let path = &self.options.root;
        path.canonicalize().map_err(|error| Error::invalid_argument(format!("root: {:?}: {error}", path.display())))
    }
}
