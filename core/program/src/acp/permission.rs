//! Calls that wait for approval: the editor asks its user.

use std::sync::Arc;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest, ToolCallContent, ToolCallStatus,
    ToolCallUpdate,
};
use agent_client_protocol::{Client, Error};
use agent_loop::CancelToken;
use agent_loop::suspension::{Decision, SuspendedCall};

use super::calls::Calls;
use super::session::Session;
use crate::approvals::DENIED;

const ALLOW: &str = "allow";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT: &str = "reject";
const REJECT_ALWAYS: &str = "reject_always";

/// Why a call was denied, for the model.
const CANCELLED: &str = "the user has cancelled before it was approved";

/// Decisions about the calls that wait. If the user cancels, all are denied, and `cancel` is cancelled.
pub(super) async fn decide(
    session: &Session,
    connection: &ConnectionTo<Client>,
    cancel: &CancelToken,
    pending: &[SuspendedCall],
) -> Result<Vec<(String, Decision)>, Error> {
    let mut decisions = Vec::new();
    for call in pending {
        let decision = if cancel.is_cancelled() {
            Decision::deny(CANCELLED)
        } else if session.settings.yes {
            Decision::Approve
        } else {
            ask(session, connection, cancel, call).await?
        };
        decisions.push((call.tool_call_id.to_string(), decision));
    }
    if cancel.is_cancelled() {
        // What was approved before has not begun, and does not begin now.
        decisions.iter_mut().for_each(|(_, decision)| *decision = Decision::deny(CANCELLED));
    }
    Ok(decisions)
}

async fn ask(
    session: &Session,
    connection: &ConnectionTo<Client>,
    cancel: &CancelToken,
    call: &SuspendedCall,
) -> Result<Decision, Error> {
    let request = RequestPermissionRequest::new(session.id.clone(), shown(session, call).await, options(call));
    let answer = tokio::select! {
        answer = connection.send_request(request).block_task() => answer?,
        () = cancel.cancelled() => return Ok(Decision::deny(CANCELLED)),
    };
    let chosen = match answer.outcome {
        RequestPermissionOutcome::Selected(selected) => selected.option_id,
        _ => {
            cancel.cancel();
            return Ok(Decision::deny(CANCELLED));
        }
    };
    Ok(match &*chosen.0 {
        ALLOW => Decision::Approve,
        ALLOW_ALWAYS => Decision::ApproveAlways,
        REJECT_ALWAYS => Decision::deny_always(DENIED),
        // Nothing runs by an answer that is none of ours.
        _ => Decision::deny(DENIED),
    })
}

/// The call with the arguments that it would run with, and with what it would change.
async fn shown(session: &Session, call: &SuspendedCall) -> ToolCallUpdate {
    let calls = Calls::of(&session.agent);
    let mut content: Vec<ToolCallContent> = vec![call.reason.as_str().into()];
    content.extend(calls.planned(&call.tool_name, &call.arguments).await);
    let fields = calls.fields(&call.tool_name, &call.arguments).status(ToolCallStatus::Pending).content(content);
    ToolCallUpdate::new(Arc::clone(&call.tool_call_id), fields)
}

fn options(call: &SuspendedCall) -> Vec<PermissionOption> {
    let mut options = vec![
        PermissionOption::new(ALLOW, "Allow", PermissionOptionKind::AllowOnce),
        PermissionOption::new(REJECT, "Reject", PermissionOptionKind::RejectOnce),
    ];
    // What is remembered has a rule.
    if !call.rule.is_empty() {
        let always = format!("Always allow {}", call.rule);
        options.insert(1, PermissionOption::new(ALLOW_ALWAYS, always, PermissionOptionKind::AllowAlways));
        let never = format!("Always reject {}", call.rule);
        options.push(PermissionOption::new(REJECT_ALWAYS, never, PermissionOptionKind::RejectAlways));
    }
    options
}
