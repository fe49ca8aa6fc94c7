//! Checks that `include/agent.h`, which is written by hand, agrees with the code of `ffi`, and that it is a complete reference.
//!
//! cbindgen renders the functions, types and constants of `ffi`; a C11 file includes the header and the rendering, so that the
//! compiler compares every prototype and every value. Names are compared three ways: declared in the header, defined in the
//! code, exported by the library. All files are generated under `target/abi`; none is committed. The comment of each function
//! must name its errors, its threads and callbacks, and its version.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

type Names = BTreeSet<String>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn work() -> PathBuf {
    // Next to the executable of this test: target/PROFILE/deps/abi-HASH.
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

/// The header with its comments.
fn manual() -> String {
    std::fs::read_to_string(root().join("include/agent.h")).unwrap()
}

/// The header without its comments.
fn header() -> String {
    let mut text = manual();
    while let Some(start) = text.find("/*") {
        let end = start + text[start..].find("*/").expect("an open comment") + 2;
        text.replace_range(start..end, " ");
    }
    text
}

/// The words of a text with this prefix, each with the text after it.
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

/// The macros that the header defines as `#define NAME value`.
fn macros(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.strip_prefix("#define ")?.split_once(' ')).collect()
}

/// The code as cbindgen renders it.
fn rendering() -> &'static str {
    static RENDERING: OnceLock<String> = OnceLock::new();
    RENDERING.get_or_init(|| {
        let mut config = cbindgen::Config { language: cbindgen::Language::C, no_includes: true, ..Default::default() };
        config.usize_is_size_t = true;
        config.documentation = false;
        let mut builder = cbindgen::Builder::new().with_config(config);
        let copies = work().join("src");
        std::fs::create_dir_all(&copies).unwrap();
        let mut folders = vec![root().join("ffi/src")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    // cbindgen does not see through cfg_attr: a copy has what the C library is compiled with.
                    let text = std::fs::read_to_string(&path).unwrap();
                    let parts: Vec<_> = path.strip_prefix(root()).unwrap().iter().map(|part| part.to_str().unwrap()).collect();
                    let copy = copies.join(parts.join("_"));
                    std::fs::write(&copy, text.replace("cfg_attr(exports, unsafe(no_mangle))", "unsafe(no_mangle)")).unwrap();
                    builder = builder.with_src(copy);
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

/// The shared library, built with the profile of this test.
fn library() -> PathBuf {
    let profile = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned();
    let name = match profile.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    // The same packages as in the Makefile, so that nothing is built twice.
    let packages = ["-p", "agent-loop-ffi", "-p", "agent-loop", "-p", "agent-loop-unify"];
    let mut build = Command::new(env!("CARGO"));
    // Without the variables of this test's package: build scripts depend on them, and would rebuild ring and all above it.
    let own = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars().filter(|(name, _)| own(name)) {
        build.env_remove(name);
    }
    run(build.current_dir(root()).args(["build", "--quiet", "--profile", name]).args(packages));
    profile.join("libagent.so")
}

#[test]
fn the_compiler_accepts_header_and_code_together() {
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
fn the_same_functions_are_declared_defined_and_exported() {
    let declared = functions(&header());
    assert!(declared.len() > 80, "this test no longer finds the functions of the header: {declared:?}");
    assert_eq!(declared, functions(&rendered().1), "left: agent.h; right: ffi/src");
    if cfg!(target_os = "linux") {
        let symbols = run(Command::new("nm").args(["-D", "--defined-only"]).arg(library()));
        let exported: Names = symbols.lines().filter_map(|line| line.split(' ').nth(2)).map(str::to_owned).collect();
        assert_eq!(declared, exported, "left: agent.h; right: libagent.so");
    }
}

#[test]
fn the_same_constants_are_declared_and_defined() {
    let header = header();
    let macros = macros(&header);
    let mut declared: Names = enumerators(&header).into_keys().collect();
    declared.insert("AGENT_ABI_VERSION".to_owned());
    let defined: Names = rendered().0.into_keys().map(str::to_owned).collect();
    assert_eq!(declared, defined, "left: agent.h; right: ffi/src");
    // cbindgen cannot render this one; in the code it is usize::MAX.
    assert_eq!(macros["AGENT_NTS"], "SIZE_MAX");
}

#[test]
fn no_value_has_two_names() {
    let mut seen = BTreeMap::new();
    for (name, value) in enumerators(&header()) {
        let family = ["EVENT", "OUTCOME", "USAGE", "HOOK", "JSON", "LOG", "STORE"]
            .into_iter()
            .find(|family| name.starts_with(&format!("AGENT_{family}_")));
        if let Some(other) = seen.insert((family, value), name.clone()) {
            panic!("{other} and {name} are both {value}");
        }
    }
    assert!(seen.len() > 50);
}

/// A function of the header: its comment and its prototype, each on one line.
struct Entry {
    name: String,
    comment: String,
    prototype: String,
}

impl Entry {
    /// Whether it can fail: it has a place for the error.
    fn can_fail(&self) -> bool {
        self.prototype.ends_with("agent_error_t **error)")
    }

    /// The paragraph of the comment that begins with this word, up to the next such word.
    fn paragraph(&self, word: &str) -> Option<&str> {
        const WORDS: [&str; 4] = ["Errors: ", "Threads: ", "Callbacks: ", "Since "];
        let from = &self.comment[self.comment.find(word)? + word.len()..];
        let end = WORDS.iter().filter_map(|next| from.find(next)).min().unwrap_or(from.len());
        Some(from[..end].trim())
    }
}

/// The functions of the header, in order.
fn entries() -> Vec<Entry> {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = manual();
    let mut entries = Vec::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("\nAGENT_API ") {
        let (before, after) = rest.split_at(at);
        let end = after.find(';').expect("the end of a prototype");
        let prototype = one_line(&after["\nAGENT_API ".len()..end]);
        let name = functions(&prototype).into_iter().next().expect("a function");
        let comment = before.rfind("/**").map(|start| &before[start..]).filter(|comment| comment.ends_with("*/"));
        let comment = comment.unwrap_or_else(|| panic!("{name} has no comment directly before it"));
        let lines = comment.lines().map(|line| line.trim().trim_start_matches('*'));
        entries.push(Entry { comment: one_line(&lines.collect::<Vec<_>>().join(" ")), name, prototype });
        rest = &after[end..];
    }
    entries
}

#[test]
fn each_function_is_exported_through_the_macro() {
    let entries: Names = entries().into_iter().map(|entry| entry.name).collect();
    assert_eq!(entries, functions(&header()), "left: functions with AGENT_API; right: all functions");
}

#[test]
fn a_function_with_a_status_can_fail() {
    for Entry { name, prototype, .. } in entries().iter().filter(|entry| !entry.can_fail()) {
        let reads_a_status = name == "agent_error_status";
        assert!(reads_a_status || !prototype.starts_with("agent_status_t "), "{name} returns a status but takes no error");
    }
}

#[test]
fn each_fallible_function_names_its_errors() {
    let header = header();
    let constants = enumerators(&header);
    for entry in entries() {
        let (name, errors) = (&entry.name, entry.paragraph("Errors: "));
        if !entry.can_fail() {
            assert_eq!(errors, None, "{name} cannot fail");
            continue;
        }
        let errors = errors.unwrap_or_else(|| panic!("{name} has no paragraph \"Errors:\""));
        let codes: Vec<&str> = words(errors, "AGENT_").map(|(code, _)| code).collect();
        assert!(codes.contains(&"AGENT_INVALID_ARGUMENT") || codes.contains(&"AGENT_NOT_FOUND"), "{name}: {errors}");
        for code in codes {
            assert!(constants.get(code).is_some_and(|value| *value < 0), "{name}: {code} is not an error");
        }
    }
}

#[test]
fn each_function_names_its_threads_callbacks_and_version() {
    const THREADS: [&str; 2] = ["any.", "one at a time."];
    const CALLBACKS: [&str; 5] =
        ["all", "not of the same agent", "not of the same store", "not destroy and wakeup", "none of this runtime"];
    for entry in entries() {
        let name = &entry.name;
        let threads = entry.paragraph("Threads: ").unwrap_or_else(|| panic!("{name} has no statement \"Threads:\""));
        assert!(THREADS.contains(&threads), "{name}: Threads: {threads}");
        let callbacks = entry.paragraph("Callbacks: ").unwrap_or_else(|| panic!("{name} has no statement \"Callbacks:\""));
        assert!(CALLBACKS.iter().any(|known| callbacks.starts_with(known)), "{name}: Callbacks: {callbacks}");
        assert!(entry.paragraph("Since ").is_some_and(|since| since.starts_with("0.1.")), "{name} has no \"Since 0.1.\"");
    }
}

/// The header of plugins, and its fields that are functions, in order.
fn plugin_header() -> (String, Vec<String>) {
    let text = std::fs::read_to_string(root().join("include/agent_plugin.h")).unwrap();
    let (_, table) = text.split_once("typedef struct agent_plugin_host_t {").expect("the table");
    let (table, _) = table.split_once("} agent_plugin_host_t;").expect("its end");
    let fields = table.split("(*").skip(1).map(|rest| rest.split(')').next().unwrap().to_owned()).collect();
    (text, fields)
}

#[test]
fn the_table_of_plugins_is_that_of_the_code() {
    let (header, fields) = plugin_header();
    let code = std::fs::read_to_string(root().join("ffi/src/plugin/table.rs")).unwrap();
    let (_, code) = code.split_once("\nfunctions! {").expect("the table");
    let (code, _) = code.split_once('}').unwrap();
    let functions: Vec<&str> = code.split_whitespace().map(|name| name.strip_prefix("agent_").unwrap_or(name)).collect();
    assert!(functions.len() > 50);
    assert_eq!(fields, functions, "left: agent_plugin.h; right: ffi/src/plugin/table.rs");
    for field in &fields {
        assert!(header.contains(&format!("#define agent_{field} (agent_plugin_host->{field})")), "agent_{field} is no macro");
    }
}

#[test]
fn the_functions_of_plugins_are_those_of_the_header() {
    // The compiler compares their types, and where they stand.
    let mut text = String::from("#define AGENT_PLUGIN_PLAIN\n#include \"agent_plugin.h\"\n");
    let (_, fields) = plugin_header();
    text.push_str("void fill(agent_plugin_host_t *host);\nvoid fill(agent_plugin_host_t *host)\n{\n");
    for field in fields.iter().filter(|field| *field != "plugin_fail") {
        text.push_str(&format!("host->{field} = agent_{field};\n"));
    }
    text.push_str("}\n");
    let size = format!("8 + {} * sizeof(void *)", fields.len());
    text.push_str(&format!("_Static_assert(sizeof(agent_plugin_host_t) == {size}, \"no gaps\");\n"));
    let file = work().join("plugin.c");
    std::fs::write(&file, text).unwrap();
    let flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"];
    run(Command::new("cc").args(flags).arg(format!("-I{}", root().join("include").display())).arg(file));
}

#[test]
fn no_line_of_the_header_is_too_long() {
    for (number, line) in manual().lines().chain(plugin_header().0.lines()).enumerate() {
        assert!(line.chars().count() <= 130, "line {} has {} characters: {line}", number + 1, line.chars().count());
    }
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
