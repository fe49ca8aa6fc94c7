//! Calls that an earlier run has left without results: how a resumed run goes on with them, and one with a prompt.

use std::sync::Arc;

use serde_json::{Value, json};

use super::drive::{Drive, ended, journaled, says, written};
use crate::hook::{HookAnswer, HookKind, ToolOverride};
use crate::machine::{Action, Config, Input, Start, Tools, decide, interrupted, recorded};
use crate::message::{AssistantMessage, ContentBlock, Message, ToolCall};
use crate::request::ToolChoice;
use crate::session::{CallProgress, OpenCall};
use crate::suspension::Decision;
use crate::tool::{OnInterrupted, ToolOutput, ToolSpec};
use crate::usage::Outcome;

/// A call as it was left: its id, how far it came, and what was decided about it.
type LeftOver = (&'static str, CallProgress, Option<Value>);

/// A resumed run over an answer with one call of each tool, which were left like this.
fn resumed(left: &[LeftOver]) -> Drive {
    resumed_with(left, &[])
}

fn resumed_with(left: &[LeftOver], hooks: &[HookKind]) -> Drive {
    let begin = |transcript: &[_], known: &[_]| Start { decided: interrupted(transcript, known), ..Start::resume("run", 0) };
    over(left, begin, journaled(hooks))
}

/// A run with a prompt over the same.
fn prompted(left: &[LeftOver], config: Config) -> Drive {
    let begin = |transcript: &[_], known: &[_]| Start {
        decided: recorded(transcript, known),
        ..Start::new("run", 0, vec![Message::user("next", 0)])
    };
    over(left, begin, config)
}

fn answered(text: &str) -> CallProgress {
    CallProgress::Answered { result: ToolOutput::new(vec![ContentBlock::text(text)]), is_error: false }
}

fn over(left: &[LeftOver], begin: impl FnOnce(&[Arc<Message>], &[OpenCall]) -> Start, config: Config) -> Drive {
    let call = |name: &str| ContentBlock::ToolCall(ToolCall::new(name, name, serde_json::Map::new()));
    let names = ["retries", "reports", "a"];
    let answer = AssistantMessage::new(names.iter().map(|name| call(name)).collect());
    let transcript: Vec<Arc<Message>> = vec![Arc::new(Message::user("go", 0)), Arc::new(Message::Assistant(answer))];
    let known: Vec<OpenCall> = left
        .iter()
        .map(|(id, progress, decision)| OpenCall {
            tool_call_id: (*id).into(),
            tool_name: (*id).into(),
            arguments: Arc::default(),
            idempotency_key: (*progress != CallProgress::Waiting).then(|| format!("before/{id}").into()),
            progress: progress.clone(),
            decision: decision.clone(),
            is_checked: false,
        })
        .collect();
    let config = Config { tools: tools(), ..config };
    let start = Start { transcript: transcript.clone(), ..begin(&transcript, &known) };
    Drive::start(config, start, &[says("Done."), says("More.")])
}

fn tools() -> Tools {
    let tool = |name| ToolSpec::new(name, "A tool.", json!({ "type": "object" })).unwrap();
    let tools = [
        tool("retries").with_on_interrupted(OnInterrupted::Retry),
        tool("reports"),
        tool("a").with_on_interrupted(OnInterrupted::Ask),
    ];
    tools.into_iter().map(Arc::new).collect::<Vec<_>>().into()
}

fn texts_of_results(drive: &Drive) -> Vec<String> {
    let messages = &drive.result.as_ref().unwrap().messages;
    messages.iter().filter(|message| message.as_assistant().is_none()).map(|message| message.text()).collect()
}

#[test]
fn calls_go_on_as_the_journal_left_them() {
    let drive = ended(resumed(&[
        ("retries", CallProgress::Started, None),
        ("reports", CallProgress::Started, None),
        ("a", answered("kept"), None),
    ]));
    assert_eq!(drive.seen.iter().filter(|step| step.starts_with("tool ")).collect::<Vec<_>>(), ["tool retries"]);
    let texts = texts_of_results(&drive);
    assert!(texts[0] == "ran" && texts[1].contains("is not known") && texts[2] == "kept", "{texts:?}");
    // With the key that it had.
    assert_eq!(written(&drive, "tool_start")[0]["idempotency_key"], json!("before/retries"));
    assert_eq!(written(&drive, "run_start")[0]["of"], json!("resume"));
    let drive = ended(resumed(&[
        ("retries", CallProgress::Waiting, None),
        ("reports", CallProgress::Waiting, Some(json!({ "deny": "no" }))),
        ("a", CallProgress::Waiting, Some(json!("approve"))),
    ]));
    assert_eq!(texts_of_results(&drive), ["ran", "no", "ran"]);
    assert!(written(&drive, "decisions").is_empty(), "they were written before");
}

#[test]
fn an_answer_of_an_earlier_process_passes_the_hook() {
    let mut drive = resumed(&["retries", "reports", "a"].map(|id| (id, answered("secret"), None)));
    let mut config = journaled(&[HookKind::AfterToolCall]);
    config.tools = Vec::new().into();
    drive.run.handle(Input::Configure(Arc::new(config)));
    drive.hook = |_| Ok(HookAnswer::AfterToolCall(ToolOverride::default().content(vec![ContentBlock::text("***")])));
    let drive = ended(drive);
    assert_eq!(texts_of_results(&drive), ["***", "***", "***"]);
}

#[test]
fn a_hook_that_fails_leaves_the_call_to_be_decided() {
    let left = [("retries", answered("x"), None), ("reports", answered("y"), None), ("a", CallProgress::Started, None)];
    let mut drive = resumed_with(&left, &[HookKind::OnInterruptedCall]);
    drive.hook = |_| Err("no".to_owned());
    let drive = ended(drive);
    let result = drive.result.as_ref().unwrap();
    assert_eq!((result.outcome, result.pending.len()), (Outcome::Suspended, 1));
    assert_eq!(result.pending[0].reason, "the hook on_interrupted_call failed: no");
    let suspended = &written(&drive, "suspended")[0]["calls"][0];
    assert_eq!((&suspended["tool_call_id"], &suspended["is_checked"]), (&json!("a"), &json!(false)));

    let config = || Config { tools: tools(), ..journaled(&[HookKind::BeforeToolCall]) };
    let transcript = drive.run.transcript().to_vec();
    let decisions = vec![("a".to_owned(), Decision::Approve)];
    let decided = decide(&transcript, drive.run.suspended(), decisions, &config()).unwrap();
    let start = Start { decided, transcript, ..Start::resume("next", 0) };
    let drive = ended(Drive::start(config(), start, &[says("Done.")]));
    let asked = drive.seen.iter().filter(|step| ["before_tool_call", "tool a"].contains(&&***step));
    assert_eq!(asked.collect::<Vec<_>>(), ["before_tool_call", "tool a"], "it had passed no check here");
}

#[test]
fn a_prompt_begins_with_the_results_that_the_journal_has() {
    let left =
        [("retries", CallProgress::Started, None), ("reports", CallProgress::Waiting, None), ("a", answered("kept"), None)];
    let drive = ended(prompted(&left, journaled(&[])));
    assert_eq!(texts_of_results(&drive), ["kept", "next"], "no tool has run, and nothing stands for the other calls");
    assert_eq!(written(&drive, "run_start")[0]["of"], json!("prompt"));
    assert_eq!(written(&drive, "message")[0]["message"]["tool_call_id"], json!("a"));
    let (result, steps) = (drive.result.as_ref().unwrap(), drive.seen.join(" "));
    assert_eq!((result.text.as_str(), result.turns), ("Done.", 2));
    let turns = "turn_start tool_execution_start tool_execution_end write message message_start message_end turn_end \
                 turn_start write message message_start message_end diagnostic model";
    assert!(steps.contains(turns), "{steps}");

    // So does what was decided in place of an answer.
    let decided = |id, decision| (id, CallProgress::Waiting, Some(decision));
    let left = [
        decided("retries", json!({ "deny": "no" })),
        decided("reports", json!({ "result": "done" })),
        decided("a", json!("approve")),
    ];
    assert_eq!(texts_of_results(&ended(prompted(&left, journaled(&[])))), ["no", "done", "next"]);
}

#[test]
fn a_prompt_behind_recorded_results_is_a_prompt() {
    let left = [("retries", answered("x"), None), ("reports", answered("y"), None), ("a", answered("z"), None)];
    let results = ["x", "y", "z", "next"];
    // It passes the hook, and no hook of a turn is asked before the prompt.
    let hooks = [HookKind::AfterToolCall, HookKind::PrepareNextTurn, HookKind::ShouldStopAfterTurn];
    let mut drive = prompted(&left, journaled(&hooks));
    drive.hook = |kind| {
        Ok(match kind {
            HookKind::AfterToolCall => HookAnswer::AfterToolCall(ToolOverride::default().terminate(true)),
            HookKind::ShouldStopAfterTurn => HookAnswer::ShouldStopAfterTurn(true),
            _ => HookAnswer::Nothing,
        })
    };
    let drive = ended(drive);
    assert_eq!(
        (texts_of_results(&drive), drive.result.as_ref().unwrap().text.as_str()),
        (results.map(String::from).into(), "Done.")
    );
    assert_eq!(drive.asked.iter().map(|(kind, ..)| *kind).collect::<Vec<_>>(), [[hooks[0]; 3].as_slice(), &hooks[1..]].concat());

    // An abort leaves the results and the prompt.
    let mut drive = prompted(&left, journaled(&[]));
    drive.on = vec![("tool_execution_start", Input::Abort)];
    let drive = ended(drive);
    let result = drive.result.as_ref().unwrap();
    assert_eq!((result.outcome, result.messages.len()), (Outcome::Aborted, 5));
    assert_eq!(texts_of_results(&drive), results);

    // A demand for a tool holds for the prompt.
    let mut config = journaled(&[]);
    config.settings.model.tool_choice = Some(ToolChoice::Required);
    let mut run = prompted(&left, config).run;
    let demanded = std::iter::from_fn(|| run.poll(0)).find_map(|action| match action {
        Action::CallModel(call) => Some(call.request.options.tool_choice.clone()),
        _ => None,
    });
    assert_eq!(demanded, Some(Some(ToolChoice::Required)));
}
