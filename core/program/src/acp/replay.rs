//! A stored conversation as an editor shows it, when it opens the session.

use std::collections::HashSet;

use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use agent_loop::message::{ContentBlock, Message};

use super::calls::block_of;
use super::session::Session;
use super::updates::Updates;

/// Shows all of it. Calls that wait for approval are left open: the next prompt asks about them.
pub(super) async fn show(session: &Session, connection: &ConnectionTo<Client>) {
    let mut updates = Updates::new(session, connection);
    for message in session.agent.messages().iter() {
        match &**message {
            Message::User(user) => user.content.iter().filter_map(block_of).for_each(|block| updates.user(block)),
            Message::Assistant(answer) => {
                for block in &answer.content {
                    match block {
                        ContentBlock::Text { text, .. } => updates.say(text),
                        ContentBlock::Thinking { thinking, .. } if !thinking.is_empty() => updates.think(thinking),
                        ContentBlock::ToolCall(call) => updates.call(&call.id, &call.name, &call.arguments),
                        _ => {}
                    }
                }
            }
            Message::ToolResult(result) => {
                let (content, details) = (&result.content, &result.details);
                updates.ended(&result.tool_call_id, &result.tool_name, content, details, result.is_error).await;
            }
            _ => {}
        }
    }
    let waiting: HashSet<String> = session.agent.pending().iter().map(|call| call.tool_call_id.to_string()).collect();
    updates.fail_open(|id| !waiting.contains(id));
    updates.usage();
}
