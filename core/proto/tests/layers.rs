//! The layers: no module depends on itself through others, nothing in this crate can wait, and the indexes are complete.
//!
//! Imports are read from the source: paths that begin with `crate`, `super`, `self` or a child module. Tests are left out.

#![allow(clippy::disallowed_methods)] // It reads source files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What waits, or brings threads.
const NOT_IN_PROTO: &[&str] = &["tokio", "tokio-util", "reqwest", "rustls", "hyper", "futures", "async-std", "rayon", "ring"];

type Graph = BTreeMap<String, BTreeSet<String>>;

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The product's source files by module path; the crate's root is `""`.
fn modules(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
            if path.is_dir() && name != "tests" {
                folders.push(path);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let relative = path.strip_prefix(root).unwrap().with_extension("");
                let parts: Vec<&str> = relative.iter().map(|part| part.to_str().unwrap()).collect();
                let module = match *parts {
                    ["lib"] => String::new(),
                    [ref folders @ .., "mod"] => folders.join("::"),
                    ref file => file.join("::"),
                };
                found.insert(module, product(&std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

/// The source without comments and without an inline module of tests.
fn product(source: &str) -> String {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The paths of a `use` tree, without its braces.
fn expand(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((prefix, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap().trim().to_owned()];
    };
    let inner = rest.rsplit_once('}').unwrap().0;
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[start..]);
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(expand).map(|path| format!("{}{path}", prefix.trim())).collect()
}

/// All paths in a module's source that may lead to a module of the crate.
fn paths(module: &str, source: &str, known: &BTreeMap<String, String>) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in source.match_indices("use ") {
        let before = source[..at].rsplit('\n').next().unwrap_or_default().trim();
        let statement = matches!(before, "" | "pub" | "pub(crate)" | "pub(super)");
        if let (true, Some(end)) = (statement, source[at..].find(';')) {
            found.extend(expand(&source[at + 4..at + end].replace('\n', " ")));
        }
    }
    let inside = if module.is_empty() { String::new() } else { format!("{module}::") };
    let children = known.keys().filter_map(|known| known.strip_prefix(&inside)).filter(|child| !child.contains("::"));
    for word in children.chain(["crate", "super", "self"]).map(|word| format!("{word}::")) {
        for (at, _) in source.match_indices(&word) {
            let before = source[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                let rest = &source[at..];
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(rest.len());
                // With a brace behind it, it is a tree, which was read above.
                found.extend(Some(&rest[..end]).filter(|path| !path.ends_with("::")).map(|path| (*path).to_owned()));
            }
        }
    }
    found
}

/// The module that a path in `module` leads to: the longest part of it that is a file. None for the crate's root.
fn target(module: &str, path: &str, known: &BTreeMap<String, String>) -> Option<String> {
    let mut base: Vec<&str> = if module.is_empty() { Vec::new() } else { module.split("::").collect() };
    let mut parts = path.split("::").map(str::trim).peekable();
    match *parts.peek()? {
        "crate" => {
            base.clear();
            parts.next();
        }
        "self" => drop(parts.next()),
        "super" => {
            while parts.next_if_eq(&"super").is_some() {
                base.pop()?;
            }
        }
        // The path begins with a child module, or with another crate.
        child => {
            let child = base.iter().copied().chain([child]).collect::<Vec<_>>().join("::");
            known.get(&child)?;
        }
    }
    base.extend(parts);
    (1..=base.len()).rev().map(|length| base[..length].join("::")).find(|module| known.contains_key(module))
}

fn graph(root: &str) -> Graph {
    let known = modules(&folder(root));
    let edges = |(module, source): (&String, &String)| {
        let targets = paths(module, source, &known).into_iter().filter_map(|path| target(module, &path, &known));
        (module.clone(), targets.filter(|target| target != module).collect())
    };
    // The root only names its modules.
    known.iter().filter(|(module, _)| !module.is_empty()).map(edges).collect()
}

fn reachable(graph: &Graph, from: &str) -> BTreeSet<String> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        for target in graph.get(module).into_iter().flatten() {
            if seen.insert(target.clone()) {
                next.push(target);
            }
        }
    }
    seen
}

/// Each module that reaches itself, with the imports that are part of the circle.
fn circles(graph: &Graph) -> BTreeMap<String, Vec<String>> {
    let in_circle = graph.keys().filter(|module| reachable(graph, module).contains(*module));
    let imports = |module: &String| {
        let back = graph[module].iter().filter(|target| reachable(graph, target).contains(module));
        (module.clone(), back.cloned().collect())
    };
    in_circle.map(imports).collect()
}

#[test]
fn no_module_of_proto_is_part_of_a_circle() {
    let graph = graph("src");
    assert!(graph.len() > 50 && graph["protocol::anthropic::wire"].contains("protocol::scan"), "{graph:#?}");
    assert!(graph["protocol"].contains("protocol::anthropic"), "{graph:#?}");
    let circles = circles(&graph);
    assert!(circles.is_empty(), "imports point in a circle: {circles:#?}");
}

#[test]
fn no_module_of_core_is_part_of_a_circle() {
    let graph = graph("../src");
    assert!(graph.len() > 30 && graph["run::model_call"].contains("model::table"), "{graph:#?}");
    assert!(graph["agent::start"].contains("run::driver") && graph["run::driver"].contains("agent::handle"), "{graph:#?}");
    let circles = circles(&graph);
    assert!(circles.is_empty(), "imports point in a circle: {circles:#?}");
}

#[test]
fn an_index_names_all_files() {
    for index in ["src/lib.rs", "src/machine/mod.rs", "../src/run/mod.rs", "../src/agent.rs"] {
        let source = std::fs::read_to_string(folder(index)).unwrap();
        let documentation: String = source.lines().filter(|line| line.starts_with("//!")).collect();
        let modules = source.lines().filter_map(|line| line.strip_suffix(';')?.rsplit_once("mod ").map(|(_, name)| name));
        let missing: Vec<&str> =
            modules.filter(|name| *name != "tests" && !documentation.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "{index} does not say what is in {missing:?}");
    }
}

#[test]
fn nothing_in_proto_can_wait() {
    let manifest = std::fs::read_to_string(folder("Cargo.toml")).unwrap();
    let dependencies = manifest.split("\n[dependencies]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let names: Vec<&str> = dependencies.lines().filter_map(|line| line.split(['.', ' ', '=']).next()).collect();
    assert!(names.contains(&"serde"), "{names:?}");
    assert!(!names.iter().any(|name| NOT_IN_PROTO.contains(name)), "{names:?}");
}

#[test]
fn a_use_tree_is_read_path_by_path() {
    assert_eq!(
        expand("crate::a::{b, c::{self, D as E}, f}"),
        ["crate::a::b", "crate::a::c::self", "crate::a::c::D", "crate::a::f"]
    );
    let known = ["a", "a::b", "c"].map(|module| (module.to_owned(), String::new())).into();
    assert_eq!(target("a::b", "super::X", &known).as_deref(), Some("a"));
    assert_eq!(target("a", "b::X", &known).as_deref(), Some("a::b"));
    assert_eq!(target("a", "crate::c::d::X", &known).as_deref(), Some("c"));
    assert_eq!(target("a", "serde::X", &known), None);
}
