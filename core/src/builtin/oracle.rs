//! `oracle`: asks another model, in a conversation of its own: a second opinion, or a stronger mind for a hard step.
//!
//! It is a subagent without tools. Its events come in the run of the call, what it uses counts there, and it ends with it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::shared::{MadeTool, Shared};
use crate::error::Error;
use crate::future::BoxFuture;
use crate::provider::ModelSpec;
use crate::tool::{FnTool, ToolContext};

/// A question for another model.
pub(crate) struct Asked {
    /// The call that asks.
    pub(crate) context: ToolContext,
    /// The model, unless it is the agent's own.
    pub(crate) model: Option<ModelSpec>,
    pub(crate) question: String,
}

/// What answers such questions, with the result of the call.
pub(crate) struct Oracle(pub(crate) Box<dyn Fn(Asked) -> BoxFuture<'static, Result<Value, Error>> + Send + Sync>);

const DESCRIPTION: &str = "Asks another model, which thinks about one question and answers: for a second opinion, a hard \
    decision, or an error that you do not understand. It has no tools and knows nothing of this conversation, so give it all \
    that it needs: code, messages of errors, what was tried.";

pub(super) fn make(shared: &Arc<Shared>) -> MadeTool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "question": { "type": "string", "minLength": 1, "description": "The question, with all that it is about." },
        },
        "required": ["question"],
    });
    let model = shared.oracle.clone();
    let tool = FnTool::new("oracle", DESCRIPTION, parameters, move |arguments, context| {
        let question = arguments.get("question").and_then(Value::as_str).unwrap_or_default().to_owned();
        let asked = Asked { context: context.clone(), model: model.clone(), question };
        let oracle = context.run().and_then(|run| run.oracle());
        let answer = oracle.as_ref().and_then(|oracle| oracle.downcast_ref::<Oracle>()).map(|oracle| (oracle.0)(asked));
        async move {
            let answer = answer.ok_or("no other model can be asked here: the call is of no agent's run")?;
            answer.await.map_err(|error| error.message().to_owned())
        }
    })?;
    Ok(Arc::new(tool))
}

/// The model that the options name.
///
/// # Errors
/// `invalid_argument`: it is none.
pub(super) fn model_of(given: &str) -> Result<ModelSpec, Error> {
    ModelSpec::parse(given).map_err(|error| error.reworded(|why| format!("oracle: {why}")))
}
