//! The tables: what comes of each mutation, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{Outcomes, fields, frames};

/// Field, or frame, and mutation to the outcomes and the reason.
pub(super) type Table = BTreeMap<(String, String), (BTreeSet<String>, String)>;

pub(super) fn parse(text: &str) -> Table {
    let rows = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let cells = rows.map(|row| row.split('\t').map(str::to_owned).collect::<Vec<_>>());
    let mut table = Table::new();
    for row in cells {
        let [field, mutations, outcomes, why] = &row[..] else { panic!("{row:?}: a row has four columns") };
        for mutation in mutations.split(", ") {
            let known = [fields::MUTATIONS, frames::MUTATIONS, frames::PLACES].concat();
            assert!(known.contains(&mutation), "{row:?}: {mutation:?} is no mutation");
            let outcomes = outcomes.split(" | ").map(str::to_owned).collect();
            let before = table.insert((field.clone(), mutation.to_owned()), (outcomes, why.clone()));
            assert!(before.is_none(), "{row:?} stands there twice");
        }
    }
    table
}

/// What the table says of a field and mutation: its own row, or that of any field (`*`), or that it is not read.
pub(super) fn said<'a>(table: &'a Table, key: &(String, String)) -> Option<&'a (BTreeSet<String>, String)> {
    let any = || table.get(&("*".to_owned(), key.1.clone())).filter(|_| fields::MUTATIONS.contains(&key.1.as_str()));
    table.get(key).or_else(any)
}

/// Writes the table anew: mutations of a field with the same outcomes in one row, with the reasons that were given.
pub(super) fn record(path: &Path, head: &str, known: &Table, outcomes: &Outcomes) {
    let mut rows: Vec<(String, Vec<String>, String, String)> = Vec::new();
    let any = known.iter().filter(|((field, _), _)| field == "*");
    for ((field, mutation), (outcomes, why)) in any {
        rows.push((field.clone(), vec![mutation.clone()], Vec::from_iter(outcomes.iter().cloned()).join(" | "), why.clone()));
    }
    for (key, found) in outcomes {
        let (field, mutation) = key;
        let is_any = !known.contains_key(key) && said(known, key).is_some_and(|(any, _)| found.is_subset(any));
        let why = known.get(key).map(|(_, why)| why.clone()).unwrap_or_default();
        let found = Vec::from_iter(found.iter().cloned()).join(" | ");
        if found == "same" || is_any {
            continue;
        }
        match rows
            .iter_mut()
            .find(|row| row.0 == *field && row.2 == found && (row.3 == why || why.is_empty() || row.3.is_empty()))
        {
            Some(row) => {
                row.1.push(mutation.clone());
                if row.3.is_empty() {
                    row.3 = why;
                }
            }
            None => rows.push((field.clone(), vec![mutation.clone()], found, why)),
        }
    }
    let row = |(field, mutations, found, why): (String, Vec<String>, String, String)| {
        format!("{field}\t{}\t{found}\t{why}\n", mutations.join(", "))
    };
    std::fs::write(path, head.to_owned() + &rows.into_iter().map(row).collect::<String>()).unwrap();
}
