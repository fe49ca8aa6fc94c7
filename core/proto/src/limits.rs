//! Time limits of runs, model calls and tool calls. The fields and their defaults are declared in [`crate::table::options`].

use serde::{Deserialize, Serialize};

use crate::table::options::option_struct;

crate::options_of!(limits, option_struct
    [
        /// Time limits in milliseconds; 0 for none. The methods of `AgentBuilder` of these names say the defaults.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename = "strict", deny_unknown_fields)]
    ]
    Limits {}
);
