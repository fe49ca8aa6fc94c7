//! Measurements until they are sent: sums over the time since the exporter began, as OTLP calls cumulative.

use agent_loop_proto::trace::{Attributes, Instrument, Measured};
use serde_json::{Map, Value, json};

use super::json::{attributes_json, key_of};

/// All histograms.
#[derive(Debug, Default)]
pub(super) struct Histograms {
    points: Vec<Point>,
    /// Whether there is something that was not sent.
    pub(super) is_new: bool,
}

/// A histogram of one set of attributes.
#[derive(Debug)]
struct Point {
    instrument: Instrument,
    key: String,
    attributes: Attributes,
    counts: Vec<u64>,
    sum: f64,
    least: f64,
    most: f64,
}

/// The most sets of attributes of all instruments: a name that a model makes up must not grow without end.
const MOST: usize = 2000;

impl Histograms {
    pub(super) fn add(&mut self, measured: Measured) {
        let Measured { instrument, value, attributes, .. } = measured;
        let key = key_of(&attributes);
        let at = self.points.iter().position(|point| point.instrument == instrument && point.key == key);
        let at = match at {
            Some(at) => at,
            None if self.points.len() < MOST => {
                let counts = vec![0; instrument.bounds().len() + 1];
                let (sum, least, most) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
                self.points.push(Point { instrument, key, attributes, counts, sum, least, most });
                self.points.len() - 1
            }
            None => return,
        };
        if let Some(point) = self.points.get_mut(at) {
            // A bucket has its upper bound.
            let bucket = instrument.bounds().partition_point(|bound| *bound < value);
            if let Some(count) = point.counts.get_mut(bucket) {
                *count += 1;
            }
            point.sum += value;
            point.least = point.least.min(value);
            point.most = point.most.max(value);
            self.is_new = true;
        }
    }

    /// The metrics of an export request.
    pub(super) fn metrics(&self, start_ns: u64, now_ns: u64) -> Vec<Value> {
        let metric = |instrument: &Instrument| {
            let points = self.points.iter().filter(|point| point.instrument == *instrument);
            let points: Vec<Value> = points.map(|point| point.json(start_ns, now_ns)).collect();
            (!points.is_empty()).then(|| {
                json!({
                    "name": instrument.name(), "unit": instrument.unit(), "description": instrument.description(),
                    "histogram": { "aggregationTemporality": 2, "dataPoints": points },
                })
            })
        };
        Instrument::ALL.iter().filter_map(metric).collect()
    }
}

impl Point {
    fn json(&self, start_ns: u64, now_ns: u64) -> Value {
        let counts: Vec<String> = self.counts.iter().map(u64::to_string).collect();
        let mut point = Map::new();
        point.insert("attributes".into(), attributes_json(&self.attributes));
        point.insert("startTimeUnixNano".into(), start_ns.to_string().into());
        point.insert("timeUnixNano".into(), now_ns.to_string().into());
        point.insert("count".into(), self.counts.iter().sum::<u64>().to_string().into());
        point.insert("sum".into(), self.sum.into());
        point.insert("min".into(), self.least.into());
        point.insert("max".into(), self.most.into());
        point.insert("bucketCounts".into(), counts.into());
        point.insert("explicitBounds".into(), self.instrument.bounds().into());
        point.into()
    }
}
