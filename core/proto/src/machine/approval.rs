//! Whether a call runs, waits for a decision or is refused: by the rules of the gate, by its tool, by the hook `on_approval`.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::config::Config;
use super::questions::NoAnswer;
use super::requested_call::{ABORTED, CheckResult, CheckStage, RequestedCall};
use super::run_state::RunState;
use crate::gate::Verdict;
use crate::hook::{ApprovalRequest, HookAnswer, HookKind, Question};
use crate::suspension::Decision;
use crate::tool::{Approval, ToolOutput, ToolSpec};

/// A call whose arguments are about to pass.
#[derive(Clone, Copy)]
pub(super) struct Approving<'a> {
    pub(super) call: &'a RequestedCall,
    pub(super) tool: &'a ToolSpec,
    pub(super) config: &'a Config,
    /// Where its message stands in the transcript.
    pub(super) message_index: usize,
}

impl Approving<'_> {
    /// The call runs with these arguments, unless a rule denies it: that holds whoever has approved.
    pub(super) fn pass(self, run: &RunState, arguments: Map<String, Value>) -> Result<CheckResult, String> {
        match self.config.judge(&run.remembered, self.tool, &arguments) {
            Verdict::Denied(rule) => Err(format!(
                "the rule {rule} denies this call, so it was not executed; do not make it again, nor another one to the same \
                 effect"
            )),
            Verdict::Asked(_) | Verdict::Allowed(_) | Verdict::Unsaid => Ok(CheckResult::Passed(arguments)),
        }
    }

    /// The call runs, or needs approval with these arguments.
    pub(super) fn approve(self, run: &mut RunState, arguments: Map<String, Value>) -> Result<CheckResult, String> {
        let Approving { call, tool, config, .. } = self;
        let needed = || format!("the tool {} needs approval", call.name);
        let reason = match (config.judge(&run.remembered, tool, &arguments), tool.needs_approval()) {
            (Verdict::Denied(_) | Verdict::Allowed(_), _) => None,
            _ if call.decided.is_some() => None,
            (Verdict::Asked(rule), _) => Some(format!("the rule {rule} asks for approval")),
            (Verdict::Unsaid, Approval::NotNeeded) => None,
            (Verdict::Unsaid, Approval::Needed) => Some(needed()),
            (Verdict::Unsaid, Approval::Asked) => {
                let (tool, asked) = (Arc::clone(&call.name), || Arc::new(arguments.clone()));
                match run.ask(|| Question::NeedsApproval { tool, arguments: asked() }) {
                    None => return Ok(CheckResult::AsksHook(CheckStage::NeedsApproval(arguments))),
                    Some(Ok(HookAnswer::NeedsApproval(None))) => None,
                    Some(Ok(HookAnswer::NeedsApproval(Some(reason)))) if !reason.is_empty() => Some(reason),
                    // A host that lacks the function does not know that the call may run.
                    Some(Ok(_)) => Some(needed()),
                    Some(Err(NoAnswer::Aborted)) => return Err(ABORTED.to_owned()),
                    Some(Err(NoAnswer::Failed(why))) => {
                        return Err(format!("needs_approval of {} failed: {}", call.name, why.message()));
                    }
                }
            }
        };
        match reason {
            None => self.pass(run, arguments),
            Some(reason) if config.hooks.has(HookKind::OnApproval) => self.ask(run, arguments, reason),
            Some(reason) => Ok(CheckResult::Suspended { arguments, reason, is_checked: true }),
        }
    }

    /// `on_approval` decides, or the call waits. A mistake of the hook neither runs it nor refuses it.
    pub(super) fn ask(self, run: &mut RunState, arguments: Map<String, Value>, reason: String) -> Result<CheckResult, String> {
        let Approving { call, tool, config, message_index } = self;
        let rule = config.rule_of(&call.name, &arguments);
        let key = call.idempotency_key(run, message_index);
        let asked = run.ask(|| {
            Question::OnApproval(ApprovalRequest {
                tool_call_id: call.id.to_string(),
                tool_name: call.name.to_string(),
                arguments: arguments.clone(),
                reason: reason.clone(),
                rule: rule.as_ref().map(ToString::to_string).unwrap_or_default(),
                idempotency_key: key.to_string(),
            })
        });
        call.record_decision(run, HookKind::OnApproval, asked.as_ref());
        let waits = |arguments, why: Option<String>| {
            let reason = why.map_or_else(|| reason.clone(), |why| format!("{reason}; {why}"));
            Ok(CheckResult::Suspended { arguments, reason, is_checked: true })
        };
        let decision = match asked {
            None => return Ok(CheckResult::AsksHook(CheckStage::Decision { arguments, reason })),
            Some(Ok(HookAnswer::OnApproval(Some(decision)))) => decision,
            Some(Ok(_)) => return waits(arguments, None),
            Some(Err(NoAnswer::Aborted)) => return Err(ABORTED.to_owned()),
            Some(Err(failed)) => {
                let error = failed.error(HookKind::OnApproval);
                return waits(arguments, error.map(|error| error.message().to_owned()));
            }
        };
        if let Some(rule) = rule {
            run.remember(rule, &decision);
        }
        match decision {
            Decision::Approve | Decision::ApproveAlways => self.pass(run, arguments),
            Decision::Deny { reason } | Decision::DenyAlways { reason } => {
                Ok(CheckResult::Ended(ToolOutput::error(reason), true))
            }
            Decision::Arguments { arguments: given } => match tool.checked(&given, config.settings.validation) {
                Ok(given) => self.pass(run, given),
                Err(why) => waits(arguments, Some(format!("the hook {} failed: {why}", HookKind::OnApproval))),
            },
            Decision::Result { result } => {
                let (output, is_error) = ToolOutput::from_value(result);
                Ok(CheckResult::Ended(output, is_error))
            }
        }
    }
}
