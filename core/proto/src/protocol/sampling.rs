//! How tokens are chosen: the options that shape it, as far as the wire format has a field for them and the model takes them.

use super::ignored::Ignored;
use crate::quirks::{Quirks, SeedField};
use crate::request::ModelOptions;

/// The least `top_p` that Claude takes while it thinks:
/// <https://platform.claude.com/docs/en/build-with-claude/extended-thinking#feature-compatibility>.
const LEAST_TOP_P_OF_THINKING: f64 = 0.95;

/// Which of these options requests of a format have a field for, beside `temperature` and `top_p`, which are in all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    /// The format's name.
    pub(super) protocol: &'static str,
    /// `top_k`.
    pub(super) top_k: bool,
    /// `seed`.
    pub(super) seed: bool,
    /// `frequency_penalty` and `presence_penalty`.
    pub(super) penalties: bool,
}

/// What a request says.
#[derive(Debug, Default)]
pub(super) struct Sampling {
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) top_k: Option<u64>,
    pub(super) seed: Option<i64>,
    pub(super) frequency_penalty: Option<f64>,
    pub(super) presence_penalty: Option<f64>,
}

impl Sampling {
    /// What of the options is sent; what is not is recorded. `thinks`: the request asks Claude to think.
    pub(super) fn of(options: &ModelOptions, quirks: &Quirks, fields: Fields, thinks: bool, ignored: &mut Ignored) -> Sampling {
        let ModelOptions { temperature, top_p, top_k, seed, frequency_penalty, presence_penalty, .. } = *options;
        let mut sent = Sampling { temperature, top_p, top_k, seed, frequency_penalty, presence_penalty };
        if temperature.is_some() && (thinks || !quirks.temperature) {
            sent.temperature = None;
            ignored.sampling("temperature", quirks.temperature);
        }
        if let Some(given) = top_p {
            let too_little = thinks && given < LEAST_TOP_P_OF_THINKING;
            if !quirks.temperature || too_little || (sent.temperature.is_some() && !quirks.temperature_and_top_p) {
                sent.top_p = None;
                ignored.top_p(quirks.temperature, too_little);
            }
        }
        if top_k.is_some() && (!fields.top_k || thinks || !quirks.temperature || !quirks.top_k) {
            sent.top_k = None;
            if !fields.top_k {
                ignored.no_field("top_k", fields.protocol);
            } else if quirks.temperature && !quirks.top_k {
                ignored.top_k_unknown();
            } else {
                ignored.sampling("top_k", quirks.temperature);
            }
        }
        if seed.is_some() && (!fields.seed || quirks.seed_field.is_none()) {
            sent.seed = None;
            if fields.seed {
                ignored.sampling("seed", false);
            } else {
                ignored.no_field("seed", fields.protocol);
            }
        }
        let penalties = [("frequency_penalty", &mut sent.frequency_penalty), ("presence_penalty", &mut sent.presence_penalty)];
        for (option, penalty) in penalties {
            if penalty.is_none() || (fields.penalties && quirks.temperature && quirks.penalties) {
                continue;
            }
            *penalty = None;
            if fields.penalties {
                ignored.sampling(option, false);
            } else {
                ignored.no_field(option, fields.protocol);
            }
        }
        sent
    }
}

impl SeedField {
    /// The field's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            SeedField::Seed => "seed",
            SeedField::RandomSeed => "random_seed",
        }
    }
}
