//! What is known of models and of the servers they are on. How addresses are made of it is tested where they are.

mod catalogue;
mod quirks;

use serde_json::Value;

use super::{Served, completed};
use crate::error::Error;
use crate::model_spec::ModelSpec;

/// A model with what is known of it.
struct Found {
    spec: ModelSpec,
    served: Served,
}

/// What is found with nothing in the environment but these variables.
fn find(spec: Value, environment: &[(&str, &str)]) -> Result<Found, Error> {
    let variable = |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let spec = completed(&ModelSpec::from_json(spec)?, None, &variable)?;
    let served = Served::of(&spec, None, &variable)?;
    Ok(Found { spec, served })
}

fn found(spec: Value, environment: &[(&str, &str)]) -> Found {
    let text = spec.to_string();
    find(spec, environment).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(spec: Value) -> String {
    find(spec, &[]).err().unwrap().message().to_owned()
}

impl Found {
    fn quirk(&self, name: &str) -> Value {
        serde_json::to_value(self.served.quirks).unwrap()[name].clone()
    }
}

const AZURE: (&str, &str) = ("AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com");
const PROJECT: (&str, &str) = ("GOOGLE_CLOUD_PROJECT", "p1");
const LOCATION: (&str, &str) = ("GOOGLE_CLOUD_LOCATION", "europe-west1");
