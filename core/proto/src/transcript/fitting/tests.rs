//! What is left out of a request.

use serde_json::{Value, json};

use super::*;
use crate::usage::Usage;

/// A user's message, an assistant's (`"a"`), or one with a call of a tool and its result (`"t"`), of so many tokens.
fn messages(of: &[(&str, usize)]) -> Vec<Arc<Message>> {
    let mut list = Vec::<Value>::new();
    for (index, (role, tokens)) in of.iter().enumerate() {
        let text = format!("{index:04}").repeat(tokens.saturating_sub(4));
        match *role {
            "u" => list.push(json!({ "role": "user", "content": text })),
            "keep" => list.push(json!({ "role": "user", "content": text, "metadata": { "keep": true } })),
            "a" => list.push(json!({ "role": "assistant", "content": [{ "type": "text", "text": text }] })),
            tool => {
                let call = json!({ "type": "tool_call", "id": format!("c{index}"), "name": tool, "arguments": {} });
                list.push(json!({ "role": "assistant", "content": [call] }));
                list.push(json!({ "role": "tool_result", "tool_call_id": format!("c{index}"), "content": text }));
            }
        }
    }
    serde_json::from_value(list.into()).unwrap()
}

fn to(limit: u64, keep_last: u32) -> FitTo {
    FitTo {
        policy: ContextPolicy::new().with_keep_last(keep_last),
        provider: String::new(),
        model: String::new(),
        limit,
        fixed: 0,
        reads_on: true,
        refused: None,
    }
}

/// The places in the transcript of what is kept.
fn kept(transcript: &[Arc<Message>], fitting: &Fitting) -> Vec<usize> {
    let place = |kept: &Arc<Message>| transcript.iter().position(|message| Arc::ptr_eq(message, kept)).unwrap();
    fitting.kept().iter().map(place).collect()
}

fn fitted(transcript: &[Arc<Message>], to: FitTo) -> Vec<usize> {
    let mut fitting = Fitting::default();
    fitting.fit(transcript, to);
    kept(transcript, &fitting)
}

#[test]
fn whole_exchanges_are_left_out_oldest_first_and_the_first_user_s_message_stays() {
    let chat = messages(&[("u", 100), ("a", 100), ("u", 100), ("a", 100), ("u", 100), ("a", 100), ("u", 100)]);
    assert_eq!(fitted(&chat, to(700, 1)), [0, 1, 2, 3, 4, 5, 6]);
    // 700 of 690: three quarters are 517, and an exchange is left out as a whole.
    assert_eq!(fitted(&chat, to(690, 1)), [0, 4, 5, 6]);
    // The last ones stay as far as can be, whatever the limit is.
    assert_eq!(fitted(&chat, to(500, 2)), [0, 2, 4, 5, 6]);
    assert_eq!(fitted(&chat, to(10, 0)), [0, 6]);
}

#[test]
fn a_long_run_keeps_its_prompt_and_its_last_calls_with_their_results() {
    let run = messages(&[("u", 50), ("t", 300), ("t", 300), ("t", 300), ("t", 300)]);
    let kept = fitted(&run, to(1_000, 2));
    assert_eq!(kept, [0, 5, 6, 7, 8]);
    assert_eq!(fitted(&run, to(100, 2)), [0, 7, 8], "the last calls are to be answered");
}

#[test]
fn what_the_application_keeps_and_the_scratch_pad_stay() {
    let chat = messages(&[
        ("u", 100),
        ("scratch_pad", 100),
        ("scratch_pad", 100),
        ("a", 100),
        ("keep", 100),
        ("a", 100),
        ("u", 100),
        ("a", 100),
        ("u", 100),
    ]);
    assert_eq!(fitted(&chat, to(600, 0)), [0, 3, 4, 6, 10]);
}

#[test]
fn a_request_only_grows_until_the_next_time() {
    let mut of = vec![("u", 50)];
    let mut fitting = Fitting::default();
    let (mut all, mut before, mut cuts) = (messages(&of), Vec::<Arc<Message>>::new(), 0);
    for _ in 0..200 {
        of.push(("t", 40));
        let grown = messages(&of);
        all.extend(grown.into_iter().skip(all.len()));
        let fitted = fitting.fit(&all, to(2_000, 2));
        assert!(fitted.of_request <= 2_000, "{fitted:?}");
        let now = fitting.kept();
        let extends = now.len() >= before.len() && before.iter().zip(now).all(|(a, b)| Arc::ptr_eq(a, b));
        cuts += usize::from(!extends);
        before = now.to_vec();
        // Whoever comes later decides the same.
        let mut anew = Fitting::default();
        anew.fit(&all, to(2_000, 2));
        assert_eq!(kept(&all, &anew), kept(&all, &fitting));
    }
    // 200 turns of some 56 tokens, 500 of which go at a time.
    assert!((15..=25).contains(&cuts), "{cuts}");
}

#[test]
fn what_the_provider_counts_corrects_the_estimate() {
    let chat = messages(&[("u", 1_000), ("a", 1_000), ("u", 1_000), ("a", 1_000), ("u", 1_000)]);
    let counted = |tokens: u64, answer: usize| {
        let mut chat = chat.clone();
        let Message::Assistant(answer) = Arc::make_mut(&mut chat[answer]) else { panic!() };
        answer.usage = Usage { input: tokens / 2, cache_read: tokens / 2, ..Usage::default() };
        chat
    };
    // Estimated 3,000 before that answer, and 5,000 now.
    assert_eq!(fitted(&counted(0, 3), to(6_000, 0)).len(), 5);
    assert_eq!(fitted(&counted(4_800, 3), to(6_000, 0)), [0, 4]);
    let tokens = |chat: &[Arc<Message>]| Fitting::default().fit(chat, to(1_000_000, 0)).of_request;
    assert_eq!(tokens(&counted(4_800, 3)), 8_000);
    // Counts that no tokenizer gives, and those of a small request.
    for (made_up, answer) in [(20, 3), (300_000, 3), (3_000, 1)] {
        assert_eq!(tokens(&counted(made_up, answer)), 5_000);
    }
}

#[test]
fn what_was_left_out_without_a_summary_does_not_correct_the_estimate() {
    let mut chat = messages(&[("u", 1_000), ("a", 1_000), ("u", 1_000), ("a", 1_000), ("u", 1_000)]);
    let Message::Assistant(answer) = Arc::make_mut(&mut chat[3]) else { panic!() };
    // Its summary failed: 2,000 of 3,000 were sent.
    answer.usage = Usage { input: 2_000, ..Usage::default() };
    let compacting = FitTo { policy: ContextPolicy::new().with_keep_last(0).compact(), ..to(2_500, 0) };
    assert_eq!(Fitting::default().fit(&chat, compacting).of_all, 5_000);
}

#[test]
fn a_result_counts_as_far_as_it_is_sent() {
    let run = messages(&[("u", 10), ("t", 50_000), ("a", 10), ("u", 10)]);
    let fitted = Fitting::default().fit(&run, to(20_000, 0));
    assert!(fitted.left_out == 0 && fitted.of_request < 12_100, "{fitted:?}");
}

#[test]
fn a_refused_request_has_a_smaller_limit_from_then_on() {
    let chat = messages(&[("u", 100), ("a", 100), ("u", 100), ("a", 100), ("u", 100), ("a", 100), ("u", 100)]);
    let mut fitting = Fitting::default();
    assert!(fitting.fit(&chat, to(10_000, 0)).can_shrink);
    let smaller = fitting.fit(&chat, FitTo { refused: Some(400), ..to(10_000, 0) });
    assert_eq!((smaller.left_out, smaller.limit), (5, 400));
    assert_eq!(kept(&chat, &fitting), [0, 6]);
    // Its answer has the limit, for whoever reads the transcript.
    let answer = json!({ "role": "assistant", "content": "Ok.", "metadata": { "context_limit": 400 } });
    let more: Vec<_> = chat.into_iter().chain([Arc::new(serde_json::from_value(answer).unwrap())]).collect();
    assert_eq!(fitting.fit(&more, to(10_000, 0)).limit, 400);
    assert_eq!(kept(&more, &fitting), [0, 6, 7]);
    assert_eq!(fitted(&more, to(10_000, 0)), [0, 6, 7]);
    let last = messages(&[("u", 100)]);
    assert!(!Fitting::default().fit(&last, to(10, 0)).can_shrink);
}

#[test]
fn a_failed_request_leaves_nothing_behind() {
    let chat = messages(&[("u", 100), ("a", 100), ("u", 100), ("a", 100), ("u", 100), ("a", 100), ("u", 100)]);
    let mut fitting = Fitting::default();
    assert_eq!(fitting.fit(&chat, to(690, 1)).left_out, 3);
    // It failed, and the next request is made without the last question and for more tokens in all.
    let failed = json!({ "role": "assistant", "content": [], "stop_reason": "error" });
    let mut more: Vec<_> = chat.into_iter().chain([Arc::new(serde_json::from_value(failed).unwrap())]).collect();
    fitting.fit(&more, to(690, 1));
    assert_eq!(kept(&more, &fitting), fitted(&more, to(690, 1)));
    more.extend(messages(&[("a", 100), ("u", 100), ("a", 100), ("u", 100)]));
    fitting.fit(&more, to(690, 1));
    assert_eq!(kept(&more, &fitting), fitted(&more, to(690, 1)));
}

#[test]
fn a_limit_holds_in_the_tokens_that_the_provider_has_counted_since() {
    let answer = json!({
        "role": "assistant", "content": "Ok.", "metadata": { "context_limit": 4_000 },
        "usage": { "input": 2_000, "output": 1 },
    });
    let mut chat = messages(&[("u", 4_000)]);
    chat.push(Arc::new(serde_json::from_value(answer).unwrap()));
    // 4,000 were estimated, and the provider has counted half of it: so is the limit.
    let fitted = Fitting::default().fit(&chat, to(1_000_000, 0));
    assert_eq!((fitted.limit, fitted.of_request), (2_000, 2_002));
}

#[test]
fn what_one_model_has_counted_and_refused_says_nothing_about_another() {
    let answer = json!({
        "role": "assistant", "provider": "p", "model": "small", "content": "Ok.",
        "metadata": { "context_limit": 4_000 }, "usage": { "input": 2_000, "output": 1 },
    });
    let mut chat = messages(&[("u", 4_000)]);
    chat.push(Arc::new(serde_json::from_value(answer).unwrap()));
    let mut fitting = Fitting::default();
    let mut limit_for = |model: &str| {
        let to = FitTo { provider: "p".to_owned(), model: model.to_owned(), ..to(1_000_000, 0) };
        fitting.fit(&chat, to).limit
    };
    assert_eq!((limit_for("large"), limit_for("small"), limit_for("large")), (1_000_000, 2_000, 1_000_000));
}

#[test]
fn a_correction_of_a_typed_answer_is_no_exchange_of_its_own() {
    let mut chat = messages(&[("u", 100), ("a", 100), ("u", 100), ("a", 100), ("u", 100), ("a", 100), ("u", 100)]);
    let before = fitted(&chat, to(690, 1));
    for at in [2, 4] {
        let Message::User(user) = Arc::make_mut(&mut chat[at]) else { panic!() };
        user.metadata = Some(json!({ "output_retry": 1 }));
    }
    assert_eq!(before, [0, 4, 5, 6]);
    // Now the first exchange has all but the last message: it is one of the last two.
    assert_eq!(fitted(&chat, to(690, 1)), [0, 3, 4, 5, 6]);
}

#[test]
fn messages_of_the_application_are_left_to_its_hooks() {
    let mut chat = messages(&[("u", 100), ("a", 100), ("u", 100), ("a", 100), ("u", 100)]);
    let note = json!({ "role": "note", "text": "between the first two" });
    chat.insert(2, Arc::new(serde_json::from_value(note).unwrap()));
    let summary = json!({ "role": "context_summary", "summary": "Short.", "keeps": 1, "timestamp": 0 });
    chat.push(Arc::new(serde_json::from_value(summary).unwrap()));
    let mut fitting = Fitting::default();
    fitting.take_in(&chat, FitTo { policy: ContextPolicy::new().with_keep_last(0).compact(), ..to(10_000, 0) });
    let roles: Vec<_> = fitting.kept().iter().map(|message| message.role().to_owned()).collect();
    assert_eq!(roles, ["user", "note", "user", "user"]);
}

#[test]
fn another_transcript_and_another_policy_begin_anew() {
    let chat = messages(&[("u", 100), ("a", 100), ("u", 100), ("a", 100), ("u", 100)]);
    let mut fitting = Fitting::default();
    assert_eq!(fitting.fit(&chat, to(300, 0)).left_out, 3);
    assert_eq!(fitting.fit(&chat, to(900, 0)).left_out, 0);
    assert_eq!(fitting.fit(&chat[2..], to(900, 0)).left_out, 0);
    assert_eq!(fitting.kept().len(), 3);
}
