//! The option `builtin_tools` in a build without the feature `tools`.

use serde_json::Value;

use crate::connection::FromOption;
use crate::did_you_mean::Spelling;
use crate::error::Error;
use crate::tool::ToolSet;

/// No tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct BuiltinTools;

impl BuiltinTools {
    pub(crate) fn with_own(&self, own: &ToolSet) -> ToolSet {
        own.clone()
    }
}

impl FromOption for BuiltinTools {
    fn from_option(value: &Value, spelled: &str, _spelling: Spelling) -> Result<BuiltinTools, Error> {
        match value {
            Value::Null => Ok(BuiltinTools),
            _ => Err(Error::invalid_argument(format!("option {spelled:?}: agent-loop was built without its feature tools"))),
        }
    }
}
