//! Changes JSON somewhere: it stays JSON, and mostly near to what it was.

use serde_json::Value;

use crate::random::{Random, nested};

/// A few changes at random places.
pub(crate) fn mutate(value: &mut Value, random: &mut Random) {
    for _ in 0..1 + random.below(3) {
        let places = count(value);
        let mut place = random.place(places);
        at(value, &mut place, &mut |inner| change(inner, random));
    }
}

/// How many values there are in this one, itself included.
fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

/// Calls with the value at this place, counted from the outside in.
fn at(value: &mut Value, place: &mut usize, call: &mut dyn FnMut(&mut Value)) -> bool {
    if *place == 0 {
        call(value);
        return true;
    }
    *place -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| at(item, place, call)),
        Value::Object(fields) => fields.values_mut().any(|field| at(field, place, call)),
        _ => false,
    }
}

fn change(value: &mut Value, random: &mut Random) {
    if random.one_in(3) {
        *value = random.json(3);
        return;
    }
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            let key = random.pick(&keys).clone();
            let other = random.pick(&keys).clone();
            match random.below(6) {
                0 => drop(fields.shift_remove(&key)),
                1 => drop(fields.insert(key, Value::Null)),
                // A field under another's name, or under one that nobody knows.
                2 => {
                    let moved = fields.shift_remove(&key).unwrap_or_default();
                    fields.insert(if random.one_in(2) { other } else { format!("{key}s") }, moved);
                }
                3 => drop(fields.insert(random.text(), random.json(2))),
                4 => {
                    let copied = fields[&other].clone();
                    fields.insert(key, copied);
                }
                _ => fields[&key] = Value::Array(vec![fields[&key].clone()]),
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let (one, other) = (random.place(items.len()), random.place(items.len()));
            match random.below(5) {
                0 => drop(items.remove(one)),
                1 => items.swap(one, other),
                2 => items.insert(other, items[one].clone()),
                3 => items.insert(one, random.json(2)),
                _ => {
                    let copied = items[one].clone();
                    items.extend(std::iter::repeat_n(copied, 1 << random.below(6)));
                }
            }
        }
        Value::String(text) => match random.below(4) {
            0 => *text = random.text(),
            1 => text.push_str(&random.text()),
            2 => drop(text.pop()),
            _ => text.insert_str(0, &random.text()),
        },
        Value::Number(_) => *value = random.json(0),
        other => *other = if random.one_in(8) { nested(60 + random.below(80)) } else { random.json(2) },
    }
}
