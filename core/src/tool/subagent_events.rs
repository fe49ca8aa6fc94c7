//! Which events of a subagent are shown.

use std::str::FromStr;

use agent_loop_proto::event::EventData;

use crate::error::Error;
use crate::event::Event;

/// Which events of a subagent come in the run of the call that it works for, as `subagent_event`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum SubagentEvents {
    /// All of them.
    #[default]
    All,
    /// All but the pieces of messages.
    Messages,
    /// None.
    None,
}

impl SubagentEvents {
    pub(crate) fn has(self, event: &Event) -> bool {
        match self {
            SubagentEvents::All => true,
            SubagentEvents::Messages => {
                let inner = if let EventData::SubagentEvent { event, .. } = &event.data { event } else { event };
                !matches!(inner.data, EventData::MessageUpdate(_) | EventData::Raw { .. })
            }
            SubagentEvents::None => false,
        }
    }
}

impl FromStr for SubagentEvents {
    type Err = Error;

    fn from_str(word: &str) -> Result<SubagentEvents, Error> {
        match word {
            "all" => Ok(SubagentEvents::All),
            "messages" => Ok(SubagentEvents::Messages),
            "none" => Ok(SubagentEvents::None),
            _ => Err(Error::invalid_argument(format!("events: expected \"all\", \"messages\" or \"none\", got {word:?}"))),
        }
    }
}
