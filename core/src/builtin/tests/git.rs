//! `git`: its actions, and that neither the model nor the repository makes it run programs.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::command::{folder, with};
use super::results;
use crate::builtin::BuiltinTools;

/// Whether git is there; else the tests say that they skip.
fn has_git() -> bool {
    let has = Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has {
        println!("skipped: there is no git");
    }
    has
}

fn git(folder: &Path, arguments: &[&str]) {
    let done = Command::new("git").current_dir(folder).args(arguments).output().expect("git");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn output_of(folder: &Path, arguments: &[&str]) -> String {
    let done = Command::new("git").current_dir(folder).args(arguments).output().expect("git");
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

/// A repository with one commit.
fn repository() -> TempDir {
    let root = folder();
    git(root.path(), &["init", "-q", "-b", "main"]);
    git(root.path(), &["config", "user.name", "Ann"]);
    git(root.path(), &["config", "user.email", "ann@example.com"]);
    std::fs::write(root.path().join("a"), "one\n").expect("a file");
    git(root.path(), &["add", "a"]);
    git(root.path(), &["commit", "-qm", "Begin"]);
    root
}

async fn call(tools: &BuiltinTools, arguments: Value) -> (String, bool) {
    results(tools.clone(), &[("git", arguments)]).await.remove(0)
}

async fn read(tools: &BuiltinTools, arguments: Value) -> String {
    let (text, is_error) = call(tools, arguments).await;
    assert!(!is_error, "{text}");
    text
}

#[tokio::test]
async fn it_reads_and_commits() {
    if !has_git() {
        return;
    }
    for mode in ["auto", "off"] {
        let root = repository();
        let tools = with(root.path(), json!({ "sandbox": mode }));
        assert_eq!(read(&tools, json!({ "action": "diff" })).await, "No changes.");
        std::fs::write(root.path().join("a"), "two\n").expect("a file");
        std::fs::write(root.path().join("ö b"), "new\n").expect("a file");
        std::fs::write(root.path().join("-c"), "new\n").expect("a file");
        let status = read(&tools, json!({ "action": "status" })).await;
        assert_eq!(status, "## main\n M a\n?? -c\n?? \"ö b\"\n");
        let diff = read(&tools, json!({ "action": "diff", "paths": ["a"] })).await;
        assert!(diff.ends_with("-one\n+two\n"), "{diff}");
        let done = read(&tools, json!({ "action": "commit", "message": "-m Change", "paths": ["a", "./-c"] })).await;
        assert!(done.contains(" -m Change\n") && done.contains(" a ") && done.contains(" -c "), "{done}");
        assert_eq!(read(&tools, json!({ "action": "status" })).await, "## main\n?? \"ö b\"\n");
        read(&tools, json!({ "action": "commit", "message": "All", "all": true })).await;
        let log = read(&tools, json!({ "action": "log", "max_count": 2 })).await;
        let lines: Vec<&str> = log.lines().collect();
        assert!(lines.len() == 2 && lines[0].ends_with(" Ann (HEAD -> main): All"), "{log}");
        let show = read(&tools, json!({ "action": "show", "revision": "HEAD:a" })).await;
        assert_eq!(show, "two\n");
        let range = read(&tools, json!({ "action": "diff", "revision": "HEAD~1..HEAD" })).await;
        assert!(range.contains("+new") && !range.contains("two"), "{range}");
    }
}

#[tokio::test]
async fn wrong_arguments_are_named() {
    if !has_git() {
        return;
    }
    let root = repository();
    let tools = with(root.path(), json!({}));
    let error = async |arguments: Value| {
        let (text, is_error) = call(&tools, arguments).await;
        assert!(is_error, "{text}");
        text
    };
    for revision in ["--output=x", "-O", "", "a\nb"] {
        let text = error(json!({ "action": "log", "revision": revision })).await;
        assert!(text.starts_with(&format!("revision: {revision:?} is none")), "{text}");
    }
    for path in ["-x", "../a", "/etc/passwd", "a/../../b", ""] {
        let text = error(json!({ "action": "diff", "paths": [path] })).await;
        assert!(text.starts_with(&format!("paths: {path:?}: give a path in the working folder")), "{text}");
    }
    assert_eq!(error(json!({ "action": "commit", "message": "m" })).await, "commit: give paths, or all: true");
    let both = error(json!({ "action": "commit", "message": "m", "all": true, "paths": ["a"] })).await;
    assert_eq!(both, "commit: give either paths or all, not both");
    assert_eq!(error(json!({ "action": "commit", "message": " ", "all": true })).await, "commit: give a message");
    assert!(error(json!({ "action": "show", "revision": "none" })).await.starts_with("git: fatal: bad revision 'none'"));
    assert!(error(json!({ "action": "push" })).await.contains("/action"));
    assert!(error(json!({ "action": "commit", "message": "m", "paths": ["*"] })).await.contains("did not match any files"));
    let nothing = error(json!({ "action": "commit", "message": "m", "all": true })).await;
    assert!(nothing.starts_with("git: "), "{nothing}");
}

#[tokio::test]
async fn a_repository_outside_of_the_root_is_not_used() {
    if !has_git() {
        return;
    }
    let above = repository();
    let inner = above.path().join("inner");
    std::fs::create_dir(&inner).expect("a folder");
    for mode in ["auto", "off"] {
        let (text, is_error) = call(&with(&inner, json!({ "sandbox": mode })), json!({ "action": "log" })).await;
        assert!(is_error && text.contains("is not the top of a git repository"), "{text}");
    }
    let tree = folder();
    git(above.path(), &["worktree", "add", "-q", &tree.path().join("tree").display().to_string()]);
    let (text, is_error) = call(&with(&tree.path().join("tree"), json!({ "sandbox": "off" })), json!({ "action": "log" })).await;
    assert!(is_error && text.starts_with("the repository has its files at ") && text.contains("writable"), "{text}");
    let tools = with(&tree.path().join("tree"), json!({ "writable": [above.path()] }));
    assert!(read(&tools, json!({ "action": "log" })).await.contains("Begin"));
}

#[tokio::test]
async fn settings_of_a_repository_run_no_programs() {
    if !has_git() {
        return;
    }
    for mode in ["auto", "off"] {
        let root = repository();
        let ran = root.path().join("ran");
        let script = root.path().join("script");
        std::fs::write(&script, format!("#!/bin/sh\necho ran >> '{}'\ncat\n", ran.display())).expect("a script");
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a script");
        let program = script.display().to_string();
        for name in [
            "core.fsmonitor",
            "core.pager",
            "core.editor",
            "core.sshCommand",
            "diff.external",
            "diff.x.command",
            "diff.x.textconv",
            "filter.x.clean",
            "filter.x.smudge",
            "filter.x.process",
            "gpg.program",
            "pager.log",
            "pager.status",
            "core.alternateRefsCommand",
        ] {
            git(root.path(), &["config", name, &program]);
        }
        for (name, value) in [("commit.gpgSign", "true"), ("log.showSignature", "true"), ("filter.x.required", "true")] {
            git(root.path(), &["config", name, value]);
        }
        let hooks = root.path().join(".git/hooks");
        std::fs::create_dir_all(&hooks).expect("a folder");
        for hook in
            ["pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "post-index-change", "reference-transaction"]
        {
            std::fs::copy(&script, hooks.join(hook)).expect("a script");
        }
        std::fs::write(root.path().join(".gitattributes"), "a filter=x diff=x\n").expect("a file");
        std::fs::write(root.path().join("a"), "changed\n").expect("a file");
        let tools = with(root.path(), json!({ "sandbox": mode }));
        for arguments in [
            json!({ "action": "status" }),
            json!({ "action": "diff" }),
            json!({ "action": "diff", "revision": "HEAD" }),
            json!({ "action": "log" }),
            json!({ "action": "show", "revision": "HEAD" }),
            json!({ "action": "commit", "message": "m", "paths": [".gitattributes"] }),
        ] {
            read(&tools, arguments).await;
        }
        let (text, is_error) = call(&tools, json!({ "action": "commit", "message": "m", "all": true })).await;
        assert!(is_error && text.starts_with("nothing was committed: these files go through a filter"), "{text}");
        assert!(!ran.exists(), "a program was run");
    }
}

/// A program in a folder that says that it ran, in the file of the result.
fn script(folder: &Path, name: &str) -> (std::path::PathBuf, std::path::PathBuf) {
    let (script, ran) = (folder.join(name), folder.join("ran"));
    std::fs::create_dir_all(script.parent().expect("a folder")).expect("folders");
    std::fs::write(&script, format!("#!/bin/sh\necho ran >> '{}'\ncat\n", ran.display())).expect("a script");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a script");
    (script, ran)
}

#[tokio::test]
async fn a_program_that_a_command_could_have_written_is_not_git() {
    if !has_git() {
        return;
    }
    let (root, writable) = (repository(), folder());
    let (script_in_root, ran) = script(root.path(), ".venv/bin/git");
    let (_, ran_too) = script(writable.path(), "git");
    std::os::unix::fs::symlink(&script_in_root, root.path().join("link")).expect("a link");
    let path = std::env::var("PATH").expect("PATH");
    let places = format!(".venv/bin:{0}/.venv/bin:{1}:{path}", root.path().display(), writable.path().display());
    for mode in ["auto", "off"] {
        let options = json!({ "sandbox": mode, "writable": [writable.path()], "env": { "PATH": places } });
        assert_eq!(read(&with(root.path(), options), json!({ "action": "diff" })).await, "No changes.");
        let options = json!({ "sandbox": mode, "env": { "PATH": format!("{}/.venv/bin", root.path().display()) } });
        let (text, is_error) = call(&with(root.path(), options), json!({ "action": "diff" })).await;
        assert!(is_error && text.starts_with("there is no program git in the folders of PATH"), "{text}");
    }
    assert!(!ran.exists() && !ran_too.exists(), "it was run");
}

#[tokio::test]
async fn odd_settings_of_a_repository_run_no_programs() {
    use std::io::Write;
    if !has_git() {
        return;
    }
    let output = |folder: &Path, arguments: &[&str], input: &[u8]| {
        let mut command = Command::new("git");
        command.current_dir(folder).args(arguments).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().expect("git");
        child.stdin.take().expect("its input").write_all(input).expect("written");
        String::from_utf8(child.wait_with_output().expect("git").stdout).expect("text")
    };
    let root = repository();
    let (script, ran) = script(root.path(), "script");
    let program = script.display();
    // A commit that is signed.
    let commit = output(root.path(), &["cat-file", "commit", "HEAD"], b"");
    let signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n aaaa\n -----END PGP SIGNATURE-----\n\n";
    let commit = commit.replacen("\n\n", &format!("\n{signature}"), 1);
    let signed = output(root.path(), &["hash-object", "-t", "commit", "-w", "--stdin"], commit.as_bytes());
    // A repository in it, at another commit than the one that is kept.
    let inner = root.path().join("inner");
    std::fs::rename(repository().path(), &inner).expect("a folder");
    git(root.path(), &["add", "inner"]);
    git(root.path(), &["commit", "-qm", "Inner"]);
    std::fs::write(inner.join("a"), "two\n").expect("a file");
    git(&inner, &["commit", "-qam", "Two"]);
    git(&inner, &["config", "diff.external", &program.to_string()]);
    // A filter with a name that is no text.
    for name in [&b"x\x01y"[..], b"x\xffy"] {
        let settings = [
            b"[filter \"",
            name,
            b"\"]\n\tclean = ",
            program.to_string().as_bytes(),
            b"\n\trequired\n",
            b"[format]\n\tpretty = %G?\n[diff]\n\tsubmodule = diff\n[gpg]\n\tprogram = ",
            program.to_string().as_bytes(),
            b"\n[status]\n\tsubmoduleSummary = true\n",
        ]
        .concat();
        let path = root.path().join(".git/config");
        let before = std::fs::read(&path).expect("settings");
        std::fs::write(&path, [&before[..], &settings].concat()).expect("settings");
        std::fs::write(root.path().join(".gitattributes"), [b"a filter=", name, b"\n"].concat()).expect("a file");
        std::fs::write(root.path().join("a"), "changed\n").expect("a file");
        for mode in ["auto", "off"] {
            let tools = with(root.path(), json!({ "sandbox": mode }));
            for arguments in [
                json!({ "action": "status" }),
                json!({ "action": "diff" }),
                json!({ "action": "show", "revision": signed.trim() }),
                json!({ "action": "log", "revision": signed.trim() }),
            ] {
                call(&tools, arguments.clone()).await;
                assert!(!ran.exists(), "a program was run: {arguments}");
            }
            let show = read(&tools, json!({ "action": "show", "revision": signed.trim() })).await;
            assert!(show.contains("Author: Ann"), "{show}");
        }
        std::fs::write(&path, &before).expect("settings");
    }
    // Too many settings to be kept are not taken for all.
    let many = "[filter \"x\"]\n\tclean = a\n".repeat(200_000);
    let path = root.path().join(".git/config");
    let before = std::fs::read_to_string(&path).expect("settings");
    std::fs::write(&path, before + &many).expect("settings");
    let (text, is_error) = call(&with(root.path(), json!({})), json!({ "action": "status" })).await;
    assert!(is_error && text.contains("the settings of the repository cannot be read, or are too long"), "{text}");
}

#[tokio::test]
async fn only_a_commit_waits_for_approval() {
    if !has_git() {
        return;
    }
    let root = repository();
    let model = super::model(&[("git", json!({ "action": "log" })), ("git", json!({ "action": "commit", "message": "m" }))]);
    let agent = crate::Agent::builder(model.as_str()).builtin_tools(with(root.path(), json!({}))).build().expect("an agent");
    let result = agent.prompt("Go.").await.expect("a run");
    assert_eq!((result.pending.len(), &*result.pending[0].reason), (1, "it makes a commit"));
}

#[tokio::test]
async fn commits_are_taken_back_with_what_was_written_before() {
    if !has_git() {
        return;
    }
    let tools = |root: &Path| with(root, json!({ "tools": ["write_file", "git"] }));
    let root = repository();
    let of = |arguments: &[&str]| output_of(root.path(), arguments);
    let begun = of(&["rev-parse", "HEAD"]);
    let all = |message: &str| ("git", json!({ "action": "commit", "message": message, "all": true }));
    let write = |content: &str| ("write_file", json!({ "path": "a", "content": content }));
    let agent = super::agent(tools(root.path()), &[write("two\n"), all("Two"), write("three\n"), all("Three")]);
    super::play(&agent).await;
    assert_eq!(of(&["log", "--format=%s"]), "Three\nTwo\nBegin");

    let undone = agent.undo_writes(3).expect("idle");
    let actions: Vec<_> = undone.undone.iter().map(|write| write.action.as_str()).collect();
    assert_eq!((actions, undone.refused), (vec!["uncommitted", "restored", "uncommitted"], None));
    assert_eq!((of(&["log", "--format=%s"]), of(&["rev-parse", "HEAD"])), ("Begin".to_owned(), begun));
    assert_eq!(of(&["diff", "--cached", "--name-only"]), "a", "its changes are staged");
    assert_eq!(agent.undo_writes(9).expect("idle").undone.len(), 1);
    assert_eq!(std::fs::read_to_string(root.path().join("a")).expect("a file"), "one\n");

    // Others followed it; it was the first one of a branch; another root.
    let agent = super::agent(tools(root.path()), &[write("four\n"), all("Four")]);
    super::play(&agent).await;
    git(root.path(), &["commit", "-q", "--allow-empty", "-m", "Of somebody"]);
    let refused = agent.undo_writes(1).expect("idle").refused.expect("refused");
    assert_eq!((refused.path.len(), &*refused.reason), (40, "it is not the last commit of what is checked out"));
    git(root.path(), &["reset", "-q", "--hard", "HEAD~1"]);
    let elsewhere = super::agent(tools(repository().path()), &[]);
    elsewhere.replace_messages(agent.messages().to_vec()).expect("idle");
    let refused = elsewhere.undo_writes(1).expect("idle").refused.expect("refused");
    assert!(refused.reason.starts_with("it was made in another root, "), "{refused:?}");

    // Another branch at the same commit, none, what the transcript has wrong, and an agent without the tool.
    git(root.path(), &["checkout", "-q", "-b", "review"]);
    let refused = |agent: &crate::Agent| agent.undo_writes(1).expect("idle").refused.expect("refused").reason;
    assert_eq!(refused(&agent), "it was committed to refs/heads/main, and that is not checked out");
    git(root.path(), &["checkout", "-q", "--detach"]);
    assert_eq!(refused(&agent), "it was committed to refs/heads/main, and that is not checked out");
    git(root.path(), &["checkout", "-q", "main"]);
    for (parent, why) in [(json!(null), "another one than"), (json!("a".repeat(40)), "another one than")] {
        let mut messages = json!(agent.messages());
        for message in messages.as_array_mut().expect("messages") {
            if let Some(known) = message.pointer_mut("/details/parent") {
                *known = parent.clone();
            }
        }
        let edited = super::agent(tools(root.path()), &[]);
        edited.replace_messages(serde_json::from_value::<Vec<crate::Message>>(messages).expect("messages")).expect("idle");
        assert!(refused(&edited).contains(why));
    }
    let without = super::agent(with(root.path(), json!({ "tools": ["write_file"] })), &[]);
    without.replace_messages(agent.messages().to_vec()).expect("idle");
    let undone = without.undo_writes(1).expect("idle").undone;
    assert_eq!((undone[0].path.as_str(), undone[0].action.as_str()), ("a", "restored"), "its own writes alone");
    assert_eq!(of(&["log", "-1", "--format=%s"]), "Four");

    let fresh = folder();
    git(fresh.path(), &["init", "-q", "-b", "main"]);
    git(fresh.path(), &["config", "user.name", "Ann"]);
    git(fresh.path(), &["config", "user.email", "ann@example.com"]);
    let agent = super::agent(tools(fresh.path()), &[write("one\n"), all("First")]);
    super::play(&agent).await;
    assert_eq!(agent.undo_writes(1).expect("idle").undone[0].action, "uncommitted");
    assert_eq!(output_of(fresh.path(), &["status", "--short"]), "A  a");
}
