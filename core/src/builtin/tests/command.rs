//! `run_command`: its results, and that nothing stays behind.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::results;
use crate::builtin::{BuiltinTools, SandboxMode};
use crate::{Agent, Outcome};

pub(super) fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Tools of a folder, without a sandbox.
fn open(root: &Path) -> BuiltinTools {
    with(root, json!({ "sandbox": "off" }))
}

/// Tools of a folder, with these options beside.
pub(super) fn with(root: &Path, options: Value) -> BuiltinTools {
    let mut all = json!({ "tools": ["run_command", "git"], "root": root });
    all.as_object_mut().expect("an object").extend(options.as_object().expect("an object").clone());
    BuiltinTools::from_json(&all).expect("tools")
}

/// The text of the result of this command.
async fn run(tools: &BuiltinTools, command: &str) -> String {
    run_with(tools, json!({ "command": command })).await.0
}

async fn run_with(tools: &BuiltinTools, arguments: Value) -> (String, bool) {
    results(tools.clone(), &[("run_command", arguments)]).await.remove(0)
}

/// The processes whose arguments have this mark, by what /proc says of them.
pub(super) fn marked(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        if arguments.contains(mark) && !status.contains("State:\tZ") && entry.file_name() != *std::process::id().to_string() {
            found.push(arguments);
        }
    }
    found
}

/// A number of seconds for `sleep` that no other process sleeps.
pub(super) fn mark() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("9{}{:04}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

#[tokio::test]
async fn a_command_gives_its_status_and_output_in_order() {
    let root = folder();
    let tools = open(root.path());
    assert_eq!(run(&tools, "echo a; echo b >&2; echo c").await, "Exit status 0.\n\na\nb\nc\n");
    assert_eq!(run_with(&tools, json!({ "command": "exit 7" })).await, ("Exit status 7.\nNo output.".to_owned(), false));
    assert_eq!(run_with(&tools, json!({ "command": "kill -9 $$" })).await, ("Ended by signal 9.\nNo output.".to_owned(), true));
    assert_eq!(run(&tools, "wc -c; cat /dev/tty").await.lines().nth(2), Some("0"), "standard input is empty");
    assert!(run(&tools, "printf 'a\\0\\033[1m\\377'").await.ends_with("\n\na\u{fffd}\u{fffd}[1m\u{fffd}"));
    std::fs::create_dir(root.path().join("sub")).expect("a folder");
    let (text, _) = run_with(&tools, json!({ "command": "basename \"$PWD\"", "cwd": "sub" })).await;
    assert_eq!(text, "Exit status 0.\n\nsub\n");
}

#[tokio::test]
async fn wrong_arguments_are_named() {
    let root = folder();
    std::fs::write(root.path().join("file"), "").expect("a file");
    std::os::unix::fs::symlink("/", root.path().join("out")).expect("a link");
    let tools = open(root.path());
    let error = async |arguments: Value| {
        let (text, is_error) = run_with(&tools, arguments).await;
        assert!(is_error, "{text}");
        text
    };
    let outside = "it is outside of the working folder; give a path in it, relative to it";
    assert_eq!(error(json!({ "command": "true", "cwd": ".." })).await, format!("cwd: \"..\": {outside}"));
    assert_eq!(error(json!({ "command": "true", "cwd": "out/usr" })).await, format!("cwd: \"out/usr\": {outside}"));
    assert_eq!(error(json!({ "command": "true", "cwd": "file" })).await, "cwd: \"file\": not a folder");
    assert!(error(json!({ "command": "true", "cwd": "none" })).await.starts_with("cwd: \"none\": No such file"));
    let long = error(json!({ "command": "true", "timeout_ms": 600_001 })).await;
    assert_eq!(long, "timeout_ms: a command may take at most 600000 ms");
    let either = "give either command, to run one, or output_of, to read on in the output of one before";
    assert_eq!(error(json!({})).await, either);
    assert_eq!(error(json!({ "command": "true", "output_of": 1 })).await, either);
    let gone = "output_of: there is no output 3 any more; run the command again";
    assert_eq!(error(json!({ "output_of": 3 })).await, gone);
}

#[tokio::test]
async fn keys_are_not_in_the_environment() {
    let root = folder();
    let tools = with(root.path(), json!({ "sandbox": "off", "env": { "MINE": "yes", "PAGER": "less" } }));
    let shown = run(&tools, "env | sort").await;
    let names: Vec<&str> = shown.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    let known = ["PATH", "HOME", "LANG", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR", "TERM", "NO_COLOR", "PWD", "SHLVL", "_"];
    let known_too = ["MINE", "EDITOR", "VISUAL", "DEBIAN_FRONTEND", "PIP_NO_INPUT", "OLDPWD"];
    for name in &names {
        let prefix = ["LC_", "GIT_"].iter().any(|prefix| name.starts_with(prefix)) || name.ends_with("PAGER");
        assert!(prefix || known.contains(name) || known_too.contains(name), "{name}");
    }
    assert!(names.contains(&"PATH") && std::env::vars().any(|(name, _)| name.starts_with("CARGO")) && !names.contains(&"CARGO"));
    assert!(shown.contains("\nMINE=yes\n") && shown.contains("\nPAGER=less\n") && shown.contains("\nTERM=dumb\n"), "{shown}");
}

#[tokio::test]
async fn a_long_output_is_cut_and_read_on() {
    let root = folder();
    let tools = open(root.path());
    let begun = run(&tools, "seq 1 20000").await;
    let number = output_of(&begun);
    let whole: String = (1..=20_000).map(|n| format!("{n}\n")).collect();
    let first = format!(
        "Exit status 0.\nOutput {number}: 108894 bytes, of which bytes 10000 to 88894 are left out here; read on with \
         output_of: {number}, offset: 10000.\n\n1\n2\n"
    );
    assert!(begun.starts_with(&first) && begun.ends_with("\n20000\n"), "{}", &begun[..300]);
    let read = async |number: u64, offset: u64| run_with(&tools, json!({ "output_of": number, "offset": offset })).await;
    let next =
        format!("Output {number}, bytes 10000 to 40000 of 108894; read on with offset: 40000.\n\n{}", &whole[10_000..40_000]);
    assert_eq!(read(number, 10_000).await.0, next);
    assert_eq!(read(number, 200_000).await, (format!("offset: output {number} has 108894 bytes"), true));
    // The output of one conversation is not there for another one that has not seen its number, nor does an error tell it.
    let other = output_of(&run(&tools, "seq 1 20000").await);
    assert!(number != other + 1 && other != number + 1 && number > 1000 && other > 1000, "{number}, {other}");
    let gone = "output_of: there is no output 1 any more; run the command again";
    assert_eq!(read(1, 0).await, (gone.to_owned(), true));
}

/// The number of the output that a result has a part of.
fn output_of(text: &str) -> u64 {
    let number = text.split("output_of: ").nth(1).and_then(|rest| rest.split(',').next());
    number.and_then(|number| number.parse().ok()).expect("a number")
}

#[tokio::test]
async fn a_command_that_stops_its_supervisor_ends() {
    let root = folder();
    let (tools, mark) = (open(root.path()), mark());
    let command = format!("setsid sleep {mark} & kill -STOP $PPID; sleep {mark}");
    let (text, is_error) = run_with(&tools, json!({ "command": command, "timeout_ms": 300 })).await;
    let killed = "\nThe process that watches over it did not answer, and was killed: what it has started may still run.\n";
    assert!(is_error && text.starts_with("Ended after its time limit of 300 ms") && text.contains(killed), "{text}");
    assert_eq!(marked(&mark), [""; 0]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_supervisor_without_descriptors_ends_all() {
    if !Path::new("/usr/bin/prlimit").exists() {
        println!("skipped: there is no prlimit");
        return;
    }
    let root = folder();
    let (tools, mark) = (open(root.path()), mark());
    let command = format!("prlimit --pid $PPID --nofile=0:0; setsid sleep {mark} & sleep {mark}");
    let (text, _) = run_with(&tools, json!({ "command": command, "timeout_ms": 300 })).await;
    let ended = "Ended after its time limit of 300 ms; timeout_ms can be more.\n1 process it had left running was ended.\n";
    assert_eq!(text, format!("{ended}No output."));
    assert_eq!(marked(&mark), [""; 0]);
}

#[tokio::test]
async fn of_a_hundred_megabytes_the_beginning_and_the_end_are_kept() {
    let root = folder();
    let tools = open(root.path());
    let command = "echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last";
    let begun = run(&tools, command).await;
    assert!(begun.contains("100000012 bytes") && begun.ends_with("x\nlast\n"));
    let number = output_of(&begun);
    let (rest, _) = run_with(&tools, json!({ "output_of": number, "offset": 5_000_000 })).await;
    let gap = format!("Bytes 5000000 to 98951436 were not kept. Output {number}, bytes 98951436 to");
    assert!(rest.starts_with(&gap) && begun.len() < 31_000 && rest.len() < 31_000, "{}", &rest[..200]);
}

#[tokio::test]
async fn a_time_limit_ends_all() {
    let root = folder();
    let (tools, mark) = (open(root.path()), mark());
    let command = format!("trap '' TERM; echo begun; setsid sleep {mark} & sleep {mark}; sleep {mark}");
    let (text, is_error) = run_with(&tools, json!({ "command": command, "timeout_ms": 300 })).await;
    assert!(text.starts_with("Ended after its time limit of 300 ms; timeout_ms can be more.\n"), "{text}");
    assert!(text.ends_with("\n\nbegun\n") && is_error, "{text}");
    assert_eq!(marked(&mark), [""; 0]);
}

/// Aborts a run when this command has written something, and gives the processes that are there after it.
async fn left_after_abort(command: &str, mark: &str) -> Vec<String> {
    let root = folder();
    let model = super::model(&[("run_command", json!({ "command": command }))]);
    let agent = Agent::builder(model.as_str()).builtin_tools(open(root.path())).build().expect("an agent");
    let suspended = agent.prompt("Go.").await.expect("a run");
    let decision = (suspended.pending[0].tool_call_id.to_string(), crate::suspension::Decision::Approve);
    let abort = async {
        while !root.path().join("begun").exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        agent.abort();
    };
    let (result, ()) = tokio::join!(agent.resume().decisions([decision]), abort);
    assert_eq!(result.expect("a run").outcome, Outcome::Aborted);
    marked(mark)
}

#[tokio::test]
async fn nothing_is_left_after_an_abort() {
    let mark = mark();
    let double = format!("sh -c 'sh -c \"exec sleep {mark}\" &' &");
    let python = format!(
        "python3 -c 'import os,signal,time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.closerange(0,3)\nos.setsid()\n\
         if os.fork(): os._exit(0)\nos.setpgid(0,0)\ntime.sleep({mark})' &"
    );
    for command in [
        format!("sleep {mark} & "),
        format!("setsid sleep {mark} & setsid setsid sleep {mark} & "),
        format!("nohup sleep {mark} >/dev/null 2>&1 & "),
        double,
        python,
        format!("(trap '' TERM HUP INT; while :; do sleep {mark}; done) & "),
    ] {
        let command = format!("{command}\n sleep 0.2; echo > begun; sleep {mark}; true {mark}");
        assert_eq!(left_after_abort(&command, &mark).await, [""; 0], "{command}");
    }
}

#[tokio::test]
async fn processes_that_keep_forking_are_ended() {
    let mark = mark();
    // Each starts the next one, of another session, and ends.
    let script = format!("#!/bin/sh\n: {mark}\n[ -e \"$1/stop\" ] || setsid \"$0\" \"$1\" & \n");
    let scripts = folder();
    let path = scripts.path().join(format!("chain-{mark}"));
    std::fs::write(&path, script).expect("a script");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a script");
    let stop = scripts.path().display();
    let command = format!("for i in $(seq 50); do {} {stop} & done; sleep 0.3; echo > begun; sleep {mark}", path.display());
    let left = left_after_abort(&command, &mark).await;
    std::fs::write(scripts.path().join("stop"), "").expect("a file");
    assert_eq!(left, [""; 0]);
}

#[tokio::test]
async fn what_a_command_leaves_in_the_background_is_ended_and_counted() {
    let root = folder();
    let (tools, mark) = (open(root.path()), mark());
    let one = run(&tools, &format!("sleep {mark} & echo done")).await;
    assert_eq!(one, "Exit status 0.\n1 process it had left running was ended.\n\ndone\n");
    let three = run(&tools, &format!("sleep {mark} & setsid sleep {mark} & (sleep {mark} &) ; exit 3")).await;
    assert_eq!(three, "Exit status 3.\n3 processes it had left running were ended.\nNo output.");
    assert_eq!(marked(&mark), [""; 0]);
}

#[tokio::test]
async fn a_run_that_is_dropped_leaves_nothing() {
    let root = folder();
    let mark = mark();
    let tools = open(root.path());
    let dropped = tokio::spawn({
        let command = format!("echo > begun; setsid sleep {mark} & sleep {mark}");
        async move { run(&tools, &command).await }
    });
    while !root.path().join("begun").exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    dropped.abort();
    while !marked(&mark).is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Not a test of its own: the host that [`a_killed_host_leaves_nothing`] kills.
#[tokio::test]
async fn host_to_be_killed() {
    let (Ok(root), Ok(mark)) = (std::env::var("AGENT_LOOP_TEST_ROOT"), std::env::var("AGENT_LOOP_TEST_MARK")) else { return };
    let options = json!({ "sandbox": std::env::var("AGENT_LOOP_TEST_SANDBOX").expect("a mode") });
    let command = format!("trap '' TERM HUP; setsid sleep {mark} & (sleep {mark} &); echo > begun; sleep {mark}; true {mark}");
    run(&with(Path::new(&root), options), &command).await;
}

#[test]
fn a_killed_host_leaves_nothing() {
    for mode in ["off", "auto"] {
        let (root, mark) = (folder(), mark());
        let mut host = std::process::Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "builtin::tests::command::host_to_be_killed", "--test-threads", "1"])
            .env("AGENT_LOOP_TEST_ROOT", root.path())
            .env("AGENT_LOOP_TEST_MARK", &mark)
            .env("AGENT_LOOP_TEST_SANDBOX", mode)
            // What it leaves there goes with this folder.
            .env("TMPDIR", root.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("this program");
        while !root.path().join("begun").exists() {
            assert!(host.try_wait().expect("a process").is_none(), "the host has ended");
            std::thread::sleep(Duration::from_millis(10));
        }
        host.kill().expect("killed");
        host.wait().expect("killed");
        // The supervisor does it as soon as it sees that; there is no time by which it has to.
        while !marked(&mark).is_empty() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[tokio::test]
async fn a_command_waits_for_approval_and_reading_on_does_not() {
    let root = folder();
    let model = super::model(&[("run_command", json!({ "output_of": 1 })), ("run_command", json!({ "command": "true" }))]);
    let agent = Agent::builder(model.as_str()).builtin_tools(open(root.path())).build().expect("an agent");
    let result = agent.prompt("Go.").await.expect("a run");
    assert_eq!((result.outcome, result.pending.len()), (Outcome::Suspended, 1));
    assert_eq!(result.pending[0].reason, "it runs a command");
    assert_eq!(SandboxMode::default(), SandboxMode::Auto);
}
