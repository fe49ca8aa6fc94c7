//! A model that gives one recorded answer.

use std::sync::{Arc, Mutex, PoisonError};

use agent_loop_proto::machine::ModelCall;
use agent_loop_proto::recording::{AnswerPart, RecordedAnswer};

use super::replayed::ReplayedRun;
use crate::clock::Clock;
use crate::error::Error;
use crate::future::BoxFuture;
use crate::model::{Constraints, DeltaSink, Encoder, Model, ModelInfo, ModelRequest};

/// A model that gives a recorded answer in place of its own, once.
struct AnswerModel {
    model: Arc<dyn Model>,
    run: ReplayedRun,
    answer: Mutex<Result<RecordedAnswer, Error>>,
}

/// The model as it answers this call of the run.
pub(crate) fn answering(model: Arc<dyn Model>, run: &ReplayedRun, call: &ModelCall) -> Arc<dyn Model> {
    let answer = Mutex::new(run.answer(call));
    Arc::new(AnswerModel { model, run: run.clone(), answer })
}

impl AnswerModel {
    async fn play(&self, sink: &DeltaSink) -> Result<(), Error> {
        let answer = {
            let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *answer, Ok(RecordedAnswer::default()))?
        };
        let clock = self.run.clock();
        let asked_ms = clock.now_ms();
        for (after_ms, part) in answer.parts {
            let passed_ms = clock.now_ms().saturating_sub(asked_ms);
            if after_ms > passed_ms {
                clock.sleep(after_ms - passed_ms).await;
            }
            match part {
                AnswerPart::Deltas(deltas) => {
                    deltas.into_iter().for_each(|delta| sink.push(delta));
                    sink.ready().await;
                }
                AnswerPart::Activity => sink.alive(),
                AnswerPart::Intervention { count } => self.run.intervened(count, &answer.place).await?,
                AnswerPart::End(result) => return result,
            }
        }
        // The recorded one was not awaited to its end, and neither is this one.
        std::future::pending().await
    }
}

impl Model for AnswerModel {
    fn info(&self) -> ModelInfo<'_> {
        self.model.info()
    }

    fn stream<'a>(&'a self, _request: &'a ModelRequest, sink: &'a DeltaSink) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.play(sink))
    }

    fn encoder(&self) -> Option<Arc<Encoder>> {
        self.model.encoder()
    }

    fn constraints(&self) -> Constraints {
        self.model.constraints()
    }

    fn clock(&self) -> Clock {
        self.run.clock()
    }
}
