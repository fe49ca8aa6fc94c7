//! Days of virtual time: many agents through the bare loop, with users that prompt, steer, follow up and abort, and models, tools
//! and hooks that fail. Every run ends, the totals are the same each time, and memory does not grow from hour to hour.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use agent_loop::hook::HookKind;
use agent_loop::machine::{Action, Config, Conversation, Input, Loop, ModelEntry, Queue, Start, Tools};
use agent_loop::{Message, ToolSpec, transcript};
use agent_loop_proto::testing::Checker;
use serde_json::json;

use crate::answers;
use crate::random::Random;
use crate::{check, watch};

const HOUR_MS: u64 = 3_600_000;

/// The time between two things that a user does, in the middle.
const PAUSE_MS: u64 = 600_000;

/// What an application keeps of a conversation.
const KEPT: usize = 20;

/// Something that happens to an agent.
enum Happening {
    /// The user does something.
    User,
    /// The time that the loop asked for has come.
    Timer,
    /// To the run of this number.
    Input(u64, Input),
}

struct Person {
    conversation: Conversation<Loop>,
    config: Config,
    checker: Checker,
    random: Random,
    runs: u64,
    timer_ms: Option<u64>,
}

/// All agents, and what is going to happen, in order.
struct Day {
    people: Vec<Person>,
    /// By time and number.
    coming: BTreeMap<(u64, u64), (usize, Happening)>,
    number: u64,
    end_ms: u64,
    totals: Totals,
}

/// What a day comes to.
#[derive(Debug, Default, PartialEq)]
struct Totals {
    runs: u64,
    events: u64,
    turns: u64,
    outcomes: BTreeMap<&'static str, u64>,
    digest: u64,
}

/// An hour of some agents.
pub(crate) fn hour(random: &mut Random) -> Result<u64, String> {
    twice(random, 40, 1)
}

/// A day of 200 agents.
pub(crate) fn day(random: &mut Random) -> Result<u64, String> {
    twice(random, 200, 24)
}

fn twice(random: &Random, agents: usize, hours: u64) -> Result<u64, String> {
    let first = play(random.clone(), agents, hours)?;
    let again = play(random.clone(), agents, hours)?;
    if first != again {
        return Err(format!("the same seed comes to {first:?}, then to {again:?}"));
    }
    Ok(first.runs)
}

fn person(mut random: Random) -> Person {
    let model = ModelEntry::new(0, "p", "p", "m");
    let mut config = Config::new(model.name(), Ok(model.clone()));
    if random.one_in(3) {
        config.fallbacks = vec![(model.name(), Ok(ModelEntry::new(1, "p", "p", "n")))];
    }
    let tool = |name: &&str| ToolSpec::new(name, "A tool.", json!({ "type": "object" })).map(Arc::new);
    let tools: Result<Vec<_>, _> = answers::TOOLS[..3].iter().map(tool).collect();
    config.tools = Tools::from(tools.expect("tools"));
    config.hooks = HookKind::ALL.iter().copied().filter(|_| random.one_in(5)).collect();
    let settings = &mut config.settings;
    settings.limits.run_timeout_ms = 1_200_000;
    settings.limits.tool_timeout_ms = 120_000;
    settings.max_parallel_tools = 1 + random.place(4);
    settings.raw_events = random.one_in(9);
    Person { conversation: Conversation::default(), config, checker: Checker::new(), random, runs: 0, timer_ms: None }
}

fn play(mut random: Random, agents: usize, hours: u64) -> Result<Totals, String> {
    let people = (0..agents).map(|_| person(Random::of_case(random.next(), "person", 0))).collect();
    let mut day = Day { people, coming: BTreeMap::new(), number: 0, end_ms: hours * HOUR_MS, totals: Totals::default() };
    for who in 0..agents {
        day.add(random.below(PAUSE_MS), who, Happening::User);
    }
    // What is allocated after each hour.
    let (mut hour, mut bytes) = (1, Vec::new());
    while let Some(((now_ms, _), (who, what))) = day.coming.pop_first() {
        if now_ms >= hour * HOUR_MS {
            (hour, _) = (hour + 1, bytes.push(watch::bytes()));
            watch::alive();
        }
        day.happen(now_ms, who, what).map_err(|why| format!("agent {who} at {now_ms} ms: {why}"))?;
    }
    if let Some(who) = day.people.iter().position(|person| person.conversation.active().is_some()) {
        return Err(format!("the run of agent {who} does not end"));
    }
    if let [_, _, _, fourth, .., last] = bytes[..]
        && last > fourth * 2
    {
        return Err(format!("{fourth} bytes were allocated after four hours, and {last} at the end"));
    }
    Ok(day.totals)
}

impl Day {
    fn add(&mut self, at_ms: u64, who: usize, what: Happening) {
        self.number += 1;
        self.coming.insert((at_ms, self.number), (who, what));
    }

    fn happen(&mut self, now_ms: u64, who: usize, what: Happening) -> Result<(), String> {
        let person = &mut self.people[who];
        match what {
            Happening::User => {
                person.act(now_ms)?;
                let next_ms = now_ms + 1 + person.random.below(2 * PAUSE_MS);
                if next_ms < self.end_ms {
                    self.add(next_ms, who, Happening::User);
                }
            }
            Happening::Timer => {}
            Happening::Input(run, input) if run == person.runs => person.conversation.handle(input),
            Happening::Input(..) => return Ok(()),
        }
        self.poll(now_ms, who)
    }

    /// Does all that the loop asks for.
    fn poll(&mut self, now_ms: u64, who: usize) -> Result<(), String> {
        while let Some(action) = self.people[who].conversation.poll(now_ms) {
            let person = &mut self.people[who];
            let random = &mut person.random;
            let later = match action {
                Action::Emit(event) => {
                    let written = json!(event);
                    let mut hasher = DefaultHasher::new();
                    (self.totals.digest, who, written.to_string()).hash(&mut hasher);
                    self.totals.digest = hasher.finish();
                    self.totals.events += 1;
                    person
                        .checker
                        .event(&written)
                        .map_err(|error| format!("{error}\n{}", check::clipped(&written.to_string())))?;
                    Vec::new()
                }
                Action::CallModel(asked) => answers::of_model(asked.call, random),
                Action::CallTool { call, .. } => answers::of_tool(call, random),
                Action::AskHook { question_id, question, .. } => answers::of_hook(question_id, question.kind(), random),
                Action::SetTimer(timer) => {
                    person.timer_ms = timer.map(|timer| timer.at_ms);
                    if let Some(at_ms) = person.timer_ms {
                        self.add(at_ms.max(now_ms), who, Happening::Timer);
                    }
                    continue;
                }
                Action::Done(result) => {
                    std::mem::take(&mut person.checker).finish().map_err(|error| error.to_string())?;
                    self.totals.runs += 1;
                    self.totals.turns += u64::from(result.turns);
                    *self.totals.outcomes.entry(result.outcome.as_str()).or_default() += 1;
                    // Each time would take longer than all the rest.
                    if self.totals.runs.is_multiple_of(8) {
                        check::messages(person.conversation.messages())?;
                    }
                    person.trim()?;
                    Vec::new()
                }
                _ => Vec::new(),
            };
            let run = self.people[who].runs;
            for (ms, input) in later {
                self.add(now_ms + ms, who, Happening::Input(run, input));
            }
        }
        Ok(())
    }
}

impl Person {
    /// Does what a user may do at any time.
    fn act(&mut self, now_ms: u64) -> Result<(), String> {
        let message = |text: &str| vec![Message::user(text, now_ms)];
        if self.conversation.active().is_some() {
            match self.random.below(6) {
                0 => self.conversation.handle(Input::Abort),
                1 | 2 => drop(self.conversation.queue(Queue::Steering, message("Rather in Bergen."))),
                3 => drop(self.conversation.queue(Queue::FollowUp, message("And tomorrow?"))),
                4 => self.save_and_load()?,
                _ => self.conversation.handle(Input::Configure(Arc::new(self.config.clone()))),
            }
            return Ok(());
        }
        self.runs += 1;
        let (id, seed) = (format!("run_{}", self.runs), self.random.next());
        let start = match self.random.below(6) {
            0 => Start::resume(id, seed),
            1 => Start::resume_if_queued(id, seed),
            _ => Start::new(id, seed, message("Rain in Oslo?")),
        };
        // There may be nothing to resume.
        drop(self.conversation.begin(self.config.clone(), start, |run| run));
        Ok(())
    }

    fn save_and_load(&mut self) -> Result<(), String> {
        let Some(run) = self.conversation.active_mut() else { return Ok(()) };
        let saved = run.save().map_err(|error| error.to_string())?;
        *run = Loop::load(&saved).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// An application keeps the last messages.
    fn trim(&mut self) -> Result<(), String> {
        let messages = Arc::clone(self.conversation.messages());
        if messages.len() <= 2 * KEPT {
            return Ok(());
        }
        let recent = transcript::recent(&messages, KEPT).to_vec();
        self.conversation.replace(recent).map_err(|error| error.to_string())
    }
}
