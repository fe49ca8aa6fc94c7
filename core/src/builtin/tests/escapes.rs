//! Ways to leave the root, each with a name. For each of them: no result has anything of what is outside, and nothing outside is
//! changed. Most fail, with a text that says why; where the last column is empty, the call may succeed, but stays inside.
//!
//! Those that need another thread are in `races.rs`.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::{ALL, Folder, results};
use crate::builtin::BuiltinTools;

/// What no result may have, and what every file outside has.
pub(super) const SECRET: &str = "the secret outside";

/// A root beside a folder that no tool may reach.
pub(super) struct Field(pub(super) Folder);

impl Field {
    pub(super) fn new() -> Field {
        Field(Folder::new(&[
            ("root/file", "inside"),
            ("root/folder/inner", "inside"),
            ("outside/secret", SECRET),
            ("outside/folder/secret", SECRET),
            ("roots/secret", SECRET),
        ]))
    }

    pub(super) fn root(&self) -> PathBuf {
        self.0.at("root")
    }

    pub(super) fn inside(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(super) fn outside(&self, path: &str) -> PathBuf {
        self.0.at("outside").join(path)
    }

    fn link(&self, from: &str, to: impl AsRef<std::path::Path>) {
        symlink(to, self.inside(from)).expect("a link");
    }

    pub(super) fn tools(&self) -> BuiltinTools {
        BuiltinTools::new(self.root(), ALL).expect("tools")
    }

    /// What is outside is as it was.
    pub(super) fn check_outside(&self) {
        for (folder, names) in
            [("outside", vec!["folder", "secret"]), ("outside/folder", vec!["secret"]), ("roots", vec!["secret"])]
        {
            assert_eq!(self.0.names(folder), names, "{folder}");
            assert_eq!(self.0.read(&format!("{folder}/secret")), SECRET, "{folder}");
        }
        assert_eq!(self.0.names("."), ["outside", "root", "roots"]);
    }
}

fn nothing(_: &Field) {}

fn outside(field: &Field, path: &str) -> String {
    field.outside(path).canonicalize().expect("a path").to_str().expect("UTF-8").to_owned()
}

fn read(path: impl Into<String>) -> Value {
    json!({ "path": path.into() })
}

fn write(path: impl Into<String>) -> Value {
    json!({ "path": path.into(), "content": "changed" })
}

fn edit(path: impl Into<String>) -> Value {
    json!({ "path": path.into(), "edits": [{ "old_text": SECRET, "new_text": "changed" }] })
}

fn search(path: impl Into<String>) -> Value {
    json!({ "path": path.into(), "pattern": "secret", "hidden": true, "ignored": true })
}

fn find(path: impl Into<String>) -> Value {
    json!({ "path": path.into(), "pattern": "*", "hidden": true, "ignored": true })
}

const OUT: &str = "leads out of the root";
const ABSOLUTE: &str = "is outside of the root";
const LINK: &str = "leads out of the root through a link";
const MISSING: &str = "does not exist";
const NOT_PLAIN: &str = "is no plain file";

/// Its name, what is prepared, the tool, its arguments, and a part of the error.
type Way = (&'static str, fn(&Field), &'static str, fn(&Field) -> Value, &'static str);

const WAYS: &[Way] = &[
    // Two dots.
    ("two dots at the start", nothing, "read_file", |_| read("../outside/secret"), OUT),
    ("two dots alone", nothing, "list_directory", |_| read(".."), OUT),
    ("two dots in the middle", nothing, "read_file", |_| read("folder/../../outside/secret"), OUT),
    ("two dots at the end", nothing, "list_directory", |_| read("folder/../.."), OUT),
    ("two dots behind a dot", nothing, "read_file", |_| read("./../outside/secret"), OUT),
    ("two dots and many slashes", nothing, "read_file", |_| read("folder//..//..//outside/secret"), OUT),
    ("two dots behind a folder that does not exist", nothing, "read_file", |_| read("none/../../outside/secret"), OUT),
    ("two dots behind a file", nothing, "read_file", |_| read("file/../../outside/secret"), OUT),
    ("two dots that lead back in", nothing, "read_file", |_| read("../root/../outside/secret"), OUT),
    ("two dots for a new file", nothing, "write_file", |_| write("../outside/new"), OUT),
    ("two dots for an edit", nothing, "edit_file", |_| edit("../outside/secret"), OUT),
    ("two dots for a search", nothing, "search_text", |_| search("../outside"), OUT),
    ("two dots for finding", nothing, "find_files", |_| find("folder/../../outside"), OUT),
    // Absolute paths.
    ("an absolute path to read", nothing, "read_file", |field| read(outside(field, "secret")), ABSOLUTE),
    ("an absolute path to write", nothing, "write_file", |field| write(outside(field, "secret")), ABSOLUTE),
    ("an absolute path to search", nothing, "search_text", |field| search(outside(field, ".")), ABSOLUTE),
    ("the root of the system", nothing, "list_directory", |_| read("/"), ABSOLUTE),
    (
        "an absolute path that begins as the root does",
        nothing,
        "read_file",
        |field| read(format!("{}s/secret", field.root().canonicalize().expect("a root").display())),
        ABSOLUTE,
    ),
    (
        "an absolute path through the root",
        nothing,
        "read_file",
        |field| read(format!("{}/../outside/secret", field.root().canonicalize().expect("a root").display())),
        ABSOLUTE,
    ),
    ("two slashes at the start", nothing, "read_file", |field| read(format!("/{}", outside(field, "secret"))), ABSOLUTE),
    ("/proc/self/root", nothing, "read_file", |_| read("/proc/self/root/etc/passwd"), ABSOLUTE),
    ("/proc/self/cwd", nothing, "list_directory", |_| read("/proc/self/cwd"), ABSOLUTE),
    ("/dev/stdin", nothing, "read_file", |_| read("/dev/stdin"), ABSOLUTE),
    // Links.
    ("an absolute link to a file", |f| f.link("link", f.outside("secret")), "read_file", |_| read("link"), LINK),
    ("a relative link to a file", |f| f.link("link", "../outside/secret"), "read_file", |_| read("link"), LINK),
    ("a link to a folder in the middle", |f| f.link("link", f.outside("")), "read_file", |_| read("link/secret"), LINK),
    ("a link to a folder to list", |f| f.link("link", "../outside"), "list_directory", |_| read("link"), LINK),
    ("a link to a folder to search", |f| f.link("link", "../outside"), "search_text", |_| search("link"), LINK),
    ("a link to a folder to find in", |f| f.link("link", "../outside"), "find_files", |_| find("link"), LINK),
    ("a link to a folder with a slash", |f| f.link("link", "../outside"), "list_directory", |_| read("link/"), LINK),
    ("a link with two dots behind it", |f| f.link("link", f.outside("folder")), "read_file", |_| read("link/../secret"), MISSING),
    ("a link to the folder around the root", |f| f.link("link", ".."), "read_file", |_| read("link/outside/secret"), LINK),
    ("a link to the root of the system", |f| f.link("link", "/"), "list_directory", |_| read("link"), LINK),
    (
        "a link to itself in the root, from outside",
        |f| f.link("link", f.root().canonicalize().expect("a root")),
        "read_file",
        |_| read("link/file"),
        LINK,
    ),
    (
        "a chain of links",
        |f| {
            f.link("a", "b");
            f.link("b", "folder/c");
            f.link("folder/c", "../../outside/secret");
        },
        "read_file",
        |_| read("a"),
        LINK,
    ),
    (
        "a chain of folders",
        |f| {
            f.link("a", "folder/b");
            f.link("folder/b", "../../outside");
        },
        "read_file",
        |_| read("a/folder/secret"),
        LINK,
    ),
    (
        "a loop of links",
        |f| {
            f.link("a", "b");
            f.link("b", "a");
        },
        "read_file",
        |_| read("a"),
        "goes through a link that leads to itself",
    ),
    ("a link to itself as a folder", |f| f.link("a", "a"), "write_file", |_| write("a/new"), "leads to itself"),
    ("writing through a link", |f| f.link("link", f.outside("secret")), "write_file", |_| write("link"), LINK),
    ("writing through a relative link", |f| f.link("link", "../outside/secret"), "write_file", |_| write("link"), LINK),
    ("writing through a link in the middle", |f| f.link("link", "../outside"), "write_file", |_| write("link/new"), LINK),
    ("making folders through a link", |f| f.link("link", "../outside"), "write_file", |_| write("link/a/b/new"), LINK),
    ("editing through a link", |f| f.link("link", f.outside("secret")), "edit_file", |_| edit("link"), LINK),
    ("editing through a link in the middle", |f| f.link("link", "../outside"), "edit_file", |_| edit("link/secret"), LINK),
    ("a link to a file that does not exist", |f| f.link("link", "../outside/new"), "write_file", |_| write("link"), LINK),
    ("a link to nothing inside", |f| f.link("link", "none"), "write_file", |_| write("link"), "is a link to something"),
    ("searching a folder with links", |f| f.link("folder/link", f.outside("")), "search_text", |_| search("."), ""),
    ("searching a folder with a link to a file", |f| f.link("link", f.outside("secret")), "search_text", |_| search("."), ""),
    ("searching a link to a file", |f| f.link("link", f.outside("secret")), "search_text", |_| search("link"), LINK),
    ("finding in a folder with links", |f| f.link("folder/link", f.outside("")), "find_files", |_| find("."), ""),
    ("an ignore file that is a link", |f| f.link(".gitignore", f.outside("secret")), "find_files", |_| read_glob("*"), ""),
    // Globs.
    ("a glob with two dots", nothing, "find_files", |_| read_glob("../**"), "begins with no / and has no `..`"),
    ("a glob with two dots inside", nothing, "find_files", |_| read_glob("folder/../../outside/*"), "has no `..`"),
    ("an absolute glob", nothing, "find_files", |field| read_glob(&format!("{}/*", outside(field, "."))), "begins with no /"),
    ("braces with two dots", nothing, "find_files", |_| read_glob("{..,folder}/outside/*"), ""),
    (
        "a glob of a search",
        nothing,
        "search_text",
        |_| json!({ "pattern": "secret", "glob": "../outside/*" }),
        "begins with no / and has no `..`",
    ),
    // Names.
    ("an empty path", nothing, "read_file", |_| read(""), "is empty"),
    ("a NUL", nothing, "read_file", |_| read("file\0../../outside/secret"), "NUL"),
    ("a newline", nothing, "read_file", |_| read("file\n../outside/secret"), MISSING),
    ("a home", nothing, "read_file", |_| read("~/secret"), "begins with ~"),
    ("a home alone", nothing, "list_directory", |_| read("~"), "begins with ~"),
    ("the home of a user", nothing, "read_file", |_| read("~root/secret"), MISSING),
    ("a URL", nothing, "read_file", |field| read(format!("file://{}", outside(field, "secret"))), "is a URL"),
    ("backslashes", nothing, "read_file", |_| read("..\\outside\\secret"), MISSING),
    ("percent escapes", nothing, "read_file", |_| read("%2e%2e/outside/secret"), MISSING),
    ("percent escapes of a slash", nothing, "read_file", |_| read("..%2foutside%2fsecret"), MISSING),
    ("an overlong encoding of a dot", nothing, "read_file", |_| read("\u{ff0e}\u{ff0e}/outside/secret"), MISSING),
    ("a variable", nothing, "read_file", |_| read("$HOME/../outside/secret"), MISSING),
    ("three dots", nothing, "read_file", |_| read(".../outside/secret"), MISSING),
    ("two dots and a space", nothing, "read_file", |_| read(".. /outside/secret"), MISSING),
    ("a name that is too long", nothing, "write_file", |_| write("n".repeat(300)), "too long"),
    ("a path that is too long", nothing, "read_file", |_| read("a/".repeat(5000)), "too long"),
    ("a slash behind a file", nothing, "read_file", |_| read("file/"), ""),
    ("a file that is no folder", nothing, "read_file", |_| read("file/secret"), "something that is not a folder"),
    // What is no plain file.
    ("a named pipe", pipe, "read_file", |_| read("pipe"), NOT_PLAIN),
    ("a named pipe to write", pipe, "write_file", |_| write("pipe"), NOT_PLAIN),
    ("a named pipe to edit", pipe, "edit_file", |_| edit("pipe"), NOT_PLAIN),
    ("a named pipe to search", pipe, "search_text", |_| search("pipe"), NOT_PLAIN),
    ("a folder with a named pipe", pipe, "search_text", |_| search("."), ""),
    ("a socket", socket, "read_file", |_| read("socket"), NOT_PLAIN),
    ("a socket to write", socket, "write_file", |_| write("socket"), NOT_PLAIN),
    // Other places.
    ("a folder to write", nothing, "write_file", |_| write("folder"), "is a folder"),
    ("the root to write", nothing, "write_file", |_| write("."), "is a folder"),
    ("a hard link to write", hard_link, "write_file", |_| write("hard"), ""),
    ("a huge file", huge, "read_file", |_| read("huge"), "is binary"),
    ("a huge file to search", huge, "search_text", |_| search("huge"), ""),
    ("a huge file to edit", huge, "edit_file", |_| edit("huge"), "is too large"),
];

fn read_glob(pattern: &str) -> Value {
    json!({ "pattern": pattern })
}

fn pipe(field: &Field) {
    assert!(Command::new("mkfifo").arg(field.inside("pipe")).status().expect("mkfifo").success());
}

fn socket(field: &Field) {
    // Its file stays.
    drop(UnixListener::bind(field.inside("socket")).expect("a socket"));
}

/// What writes replaces the name, and not what another name is of.
fn hard_link(field: &Field) {
    std::fs::hard_link(field.outside("secret"), field.inside("hard")).expect("a hard link");
}

/// Without anything on the disk.
fn huge(field: &Field) {
    std::fs::File::create(field.inside("huge")).and_then(|file| file.set_len(1 << 36)).expect("a file");
}

#[tokio::test]
async fn no_way_leads_out_of_the_root() {
    let mut wrong = Vec::new();
    for (name, prepare, tool, arguments, why) in WAYS {
        let field = Field::new();
        prepare(&field);
        let (text, is_error) = results(field.tools(), &[(tool, arguments(&field))]).await.remove(0);
        let is_refused = is_error && text.contains(why);
        if text.contains(SECRET) || (!why.is_empty() && !is_refused) {
            wrong.push(format!("{name}: {text:?}"));
        }
        field.check_outside();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_way_has_a_name_of_its_own() {
    let mut names: Vec<_> = WAYS.iter().map(|way| way.0).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), WAYS.len());
    assert!(names.len() >= 36, "{}", names.len());
}

#[tokio::test]
async fn a_device_is_not_opened() {
    let field = Field::new();
    let made = Command::new("mknod").arg(field.inside("device")).args(["c", "1", "5"]).output().expect("mknod");
    if !made.status.success() {
        eprintln!("skipped: making a device needs more rights: {}", String::from_utf8_lossy(&made.stderr));
        return;
    }
    for (tool, arguments) in [("read_file", read("device")), ("write_file", write("device")), ("search_text", search("device"))] {
        let (text, is_error) = results(field.tools(), &[(tool, arguments)]).await.remove(0);
        assert!(is_error && text.contains(NOT_PLAIN), "{tool}: {text}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_magic_link_of_proc_leads_out() {
    let tools = || BuiltinTools::new("/proc", ALL).expect("tools");
    // A descriptor that leads out.
    let field = Field::new();
    let open = std::fs::File::open(field.outside("secret")).expect("a file");
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&open);
    let process = std::process::id();
    for path in [
        "self/root/etc/passwd".to_owned(),
        "self/cwd/Cargo.toml".to_owned(),
        format!("self/fd/{descriptor}"),
        format!("{process}/root/etc/passwd"),
        format!("{process}/fd/{descriptor}"),
        format!("{process}/task/{process}/cwd/Cargo.toml"),
    ] {
        let (text, is_error) = results(tools(), &[("read_file", read(&*path))]).await.remove(0);
        assert!(is_error && !text.contains(SECRET), "{path}: {text}");
    }
}

#[tokio::test]
async fn a_root_that_is_replaced_while_it_is_open_is_not_followed() {
    let field = Field::new();
    let tools = field.tools();
    std::fs::rename(field.root(), field.0.at("moved")).expect("a move");
    symlink(field.outside(""), field.root()).expect("a link");
    let calls = [("read_file", read("secret")), ("write_file", write("new")), ("read_file", read("file"))];
    let results = results(tools, &calls).await;
    assert!(results[0].1 && results[0].0.contains(MISSING), "{:?}", results[0]);
    assert_eq!(field.0.names("outside"), ["folder", "secret"]);
    // It goes on in the folder that was opened.
    assert_eq!((field.0.read("moved/new"), &*results[2].0), ("changed".to_owned(), "inside\n"));
}

#[tokio::test]
async fn no_program_runs_in_a_root_that_was_moved_or_removed() {
    let field = Field::new();
    let options = json!({ "tools": ["run_command", "git"], "root": field.root(), "sandbox": "off" });
    let tools = BuiltinTools::from_json(&options).expect("tools");
    std::fs::rename(field.root(), field.0.at("moved")).expect("a move");
    std::fs::create_dir(field.root()).expect("a folder");
    let calls = [("run_command", json!({ "command": "touch here" })), ("git", json!({ "action": "status" }))];
    for (text, is_error) in results(tools.clone(), &calls).await {
        assert!(is_error && text.contains("was moved from"), "{text}");
    }
    assert_eq!(field.0.names("root"), [""; 0]);
    std::fs::remove_dir_all(field.0.at("moved")).expect("a removal");
    for (text, is_error) in results(tools, &calls).await {
        assert!(is_error && text.contains("was removed"), "{text}");
    }
}

#[tokio::test]
async fn a_root_that_is_removed_while_it_is_open_is_not_made_again() {
    let field = Field::new();
    let tools = field.tools();
    std::fs::remove_dir_all(field.root()).expect("a removal");
    let calls = [("read_file", read("file")), ("write_file", write("new")), ("write_file", write("a/b"))];
    for (text, is_error) in results(tools.clone(), &calls).await {
        assert!(is_error && text.contains("was removed"), "{text}");
    }
    // Another folder of that name is another one.
    std::fs::create_dir(field.root()).expect("a folder");
    assert!(results(tools, &[("write_file", write("new"))]).await[0].1);
    assert_eq!(field.0.names("root"), [""; 0]);
}

#[tokio::test]
async fn a_link_made_after_the_check_is_not_followed() {
    let field = Field::new();
    let agent = super::agent(field.tools(), &[("write_file", write("folder/new")), ("edit_file", edit("file"))]);
    let result = agent.prompt("Go.").await.expect("a run");
    // The path was checked, and waits for a decision.
    assert_eq!(result.pending[0].arguments["path"], "folder/new");
    std::fs::remove_dir_all(field.inside("folder")).expect("a removal");
    field.link("folder", "../outside");
    let decision =
        |result: &crate::RunResult| [(result.pending[0].tool_call_id.to_string(), crate::suspension::Decision::Approve)];
    let result = agent.resume().decisions(decision(&result)).await.expect("a run");
    std::fs::remove_file(field.inside("file")).expect("a removal");
    field.link("file", "../outside/secret");
    agent.resume().decisions(decision(&result)).await.expect("a run");
    for (text, is_error) in super::results_of(&agent) {
        assert!(is_error && text.contains("the path"), "{text}");
    }
    field.check_outside();
}

#[test]
fn a_temporary_file_takes_no_name_that_is_there() {
    use crate::builtin::atomic;
    use cap_std::ambient_authority;
    use cap_std::fs::Dir;
    let field = Field::new();
    let root = Dir::open_ambient_dir(field.root(), ambient_authority()).expect("a folder");
    // All names that are tried are links to the outside.
    let mut names = (0..).map(|number| format!("temporary-{}", number / 20));
    field.link("temporary-0", "../outside/secret");
    let written = atomic::replace_as(&root, "file", b"changed", None, &|| Ok(()), &mut || names.next().unwrap_or_default());
    assert_eq!(written.expect_err("no name").kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(field.0.read("root/file"), "inside");
    // The next one is free.
    let mut names = (0..).map(|number| format!("temporary-{}", number / 3));
    atomic::replace_as(&root, "file", b"changed", None, &|| Ok(()), &mut || names.next().unwrap_or_default()).expect("a file");
    assert_eq!(field.0.read("root/file"), "changed");
    assert_eq!(field.0.names("root"), ["file", "folder", "temporary-0"]);
    // A folder cannot be replaced, and nothing is left.
    assert!(atomic::replace(&root, "folder", b"changed", None, &|| Ok(())).is_err());
    assert_eq!(field.0.names("root"), ["file", "folder", "temporary-0"]);
    field.check_outside();
}
