//! Holds `include/agent.h`, which is written by hand, to the code of `ffi`.
//!
//! cbindgen renders the functions, types and constants of `ffi`; a C11 file includes the header and the rendering, so that the
//! compiler compares every prototype and every value. Names are compared three ways: declared in the header, written in the
//! code, exported by the library. Everything is made under `target/abi` and nothing of it is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

type Names = BTreeSet<String>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn work() -> PathBuf {
    // Beside what cargo made of this test: target/PROFILE/deps/abi-HASH.
    let target = std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("abi");
    std::fs::create_dir_all(&target).unwrap();
    target
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?} cannot be run: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} failed:\n{out}{err}");
    out.into_owned()
}

/// The header without its comments.
fn header() -> String {
    let mut text = std::fs::read_to_string(root().join("include/agent.h")).unwrap();
    while let Some(start) = text.find("/*") {
        let end = start + text[start..].find("*/").expect("an open comment") + 2;
        text.replace_range(start..end, " ");
    }
    text
}

/// Words of a text that begin so, with what follows each.
fn words<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(prefix)
        .filter(move |(at, _)| !text[..*at].ends_with(is_word))
        .map(move |(at, _)| text[at..].split_at(text[at..].find(|c| !is_word(c)).unwrap_or(text.len() - at)))
}

fn functions(text: &str) -> Names {
    words(text, "agent_").filter(|(_, rest)| rest.starts_with('(')).map(|(name, _)| name.to_owned()).collect()
}

/// The constants that the header writes as `NAME = value`.
fn enumerators(text: &str) -> BTreeMap<String, i64> {
    let value = |rest: &str| rest.strip_prefix(" = ")?.split([',', '\n', ' ']).next()?.parse().ok();
    words(text, "AGENT_").filter_map(|(name, rest)| Some((name.to_owned(), value(rest)?))).collect()
}

/// What the header writes as `#define NAME value`.
fn macros(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.strip_prefix("#define ")?.split_once(' ')).collect()
}

/// What cbindgen makes of the code.
fn rendering() -> &'static str {
    static RENDERING: OnceLock<String> = OnceLock::new();
    RENDERING.get_or_init(|| {
        let mut config = cbindgen::Config { language: cbindgen::Language::C, no_includes: true, ..Default::default() };
        config.usize_is_size_t = true;
        config.documentation = false;
        let mut builder = cbindgen::Builder::new().with_config(config);
        let mut folders = vec![root().join("ffi/src")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    builder = builder.with_src(path);
                }
            }
        }
        let mut text = Vec::new();
        builder.generate().expect("cbindgen reads the code").write(&mut text);
        String::from_utf8(text).unwrap()
    })
}

/// The constants of the rendering, which cbindgen writes as macros, and everything else.
fn rendered() -> (BTreeMap<&'static str, &'static str>, String) {
    let rest: Vec<&str> = rendering().lines().filter(|line| !line.starts_with("#define ")).collect();
    (macros(rendering()), rest.join("\n"))
}

/// The shared library, built as this test was.
fn library() -> PathBuf {
    let profile = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned();
    let name = match profile.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    // As the Makefile does: what is built of the tree serves here, too.
    let packages = ["-p", "agent-loop-ffi", "-p", "agent-loop", "-p", "agent-loop-unify"];
    run(Command::new(env!("CARGO")).current_dir(root()).args(["build", "--quiet", "--profile", name]).args(packages));
    profile.join("libagent.so")
}

#[test]
fn the_compiler_finds_header_and_code_the_same() {
    let (constants, prototypes) = rendered();
    let mut text = String::from("#include \"agent.h\"\n#include \"rendered.h\"\n");
    for (name, value) in &constants {
        text.push_str(&format!("_Static_assert({name} == {value}, \"{name} is {value} in the code\");\n"));
    }
    let work = work();
    std::fs::write(work.join("rendered.h"), prototypes).unwrap();
    std::fs::write(work.join("compare.c"), text).unwrap();
    let flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"];
    let include = format!("-I{}", root().join("include").display());
    run(Command::new("cc").args(flags).arg(include).arg(work.join("compare.c")));
}

#[test]
fn the_same_functions_are_declared_written_and_exported() {
    let declared = functions(&header());
    assert!(declared.len() > 80, "the header cannot be read any more: {declared:?}");
    assert_eq!(declared, functions(&rendered().1), "left: agent.h; right: ffi/src");
    if cfg!(target_os = "linux") {
        let symbols = run(Command::new("nm").args(["-D", "--defined-only"]).arg(library()));
        let exported: Names = symbols.lines().filter_map(|line| line.split(' ').nth(2)).map(str::to_owned).collect();
        assert_eq!(declared, exported, "left: agent.h; right: libagent.so");
    }
}

#[test]
fn the_same_constants_are_declared_and_written() {
    let header = header();
    let macros = macros(&header);
    let mut declared: Names = enumerators(&header).into_keys().collect();
    declared.insert("AGENT_ABI_VERSION".to_owned());
    let written: Names = rendered().0.into_keys().map(str::to_owned).collect();
    assert_eq!(declared, written, "left: agent.h; right: ffi/src");
    // cbindgen cannot write this one; in the code it is usize::MAX.
    assert_eq!(macros["AGENT_NTS"], "SIZE_MAX");
}

#[test]
fn no_value_means_two_things() {
    let mut seen = BTreeMap::new();
    for (name, value) in enumerators(&header()) {
        let family =
            ["EVENT", "OUTCOME", "USAGE", "HOOK"].into_iter().find(|family| name.starts_with(&format!("AGENT_{family}_")));
        if let Some(other) = seen.insert((family, value), name.clone()) {
            panic!("{other} and {name} are both {value}");
        }
    }
    assert!(seen.len() > 50);
}

#[test]
fn the_versions_are_those_of_cargo_toml() {
    let header = header();
    let macros = macros(&header);
    assert_eq!(macros["AGENT_VERSION"], format!("{:?}", env!("CARGO_PKG_VERSION")));
    assert_eq!(macros["AGENT_VERSION_MAJOR"], env!("CARGO_PKG_VERSION_MAJOR"));
    assert_eq!(macros["AGENT_VERSION_MINOR"], env!("CARGO_PKG_VERSION_MINOR"));
    assert_eq!(macros["AGENT_VERSION_PATCH"], env!("CARGO_PKG_VERSION_PATCH"));
}

#[test]
#[cfg(target_os = "linux")]
fn the_library_is_named_after_its_abi() {
    let header = header();
    let abi = macros(&header)["AGENT_ABI_VERSION"].to_owned();
    let dynamic = run(Command::new("readelf").arg("-d").arg(library()));
    assert!(dynamic.contains(&format!("Library soname: [libagent.so.{abi}]")), "{dynamic}");
}
