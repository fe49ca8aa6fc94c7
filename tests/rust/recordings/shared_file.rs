//! Runs of several threads and processes that are recorded into one file while others start.
//!
//! A child is this test program, with one test to run: [`child`], which does what its environment says.

use std::process::{Child, Command, Stdio};

use super::*;

const FILE: &str = "AGENT_LOOP_TEST_RECORDING";
const NAME: &str = "AGENT_LOOP_TEST_NAME";
const PROCESSES: usize = 3;
const THREADS: usize = 4;
const RUNS: usize = 5;

/// An answer that no system writes in one piece with those of others, and from which it can be seen whose it is.
fn answer(name: &str, run: usize) -> String {
    format!("{name}-{run} ").repeat(5_000)
}

/// What one thread records.
fn prompts(name: &str) -> impl Iterator<Item = (String, String)> {
    (0..RUNS).map(move |run| (format!("{name}-{run}"), answer(name, run)))
}

/// Each run begins while others are appended.
fn record(file: &Path, name: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (prompt, answer) in prompts(name) {
        let agent = builder(json!([says(&answer)])).record(file).build().unwrap();
        assert!(runtime.block_on(agent.prompt(prompt)).unwrap().text == answer);
    }
}

/// Run by [`start`] in another process.
#[test]
fn child() {
    let (Ok(file), Ok(name)) = (std::env::var(FILE), std::env::var(NAME)) else { return };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (file, name) = (&file, format!("{name}{thread}"));
            scope.spawn(move || record(Path::new(file), &name));
        }
    });
}

/// A process that records runs, started by what is given of a command.
fn start(mut command: Command, file: &Path, name: &str) -> Child {
    command.args(["--exact", "recordings::shared_file::child", "--test-threads=1"]);
    command.env(FILE, file).env(NAME, name).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn this_program() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

/// Plays what these threads have recorded. Each run has its own answer.
async fn check_recorded(file: &Path, names: impl Iterator<Item = String>) {
    let (settings, context) = (replaying(file).build().unwrap(), Context::new(Vec::<Message>::new()));
    for (prompt, answer) in names.flat_map(|name| prompts(&name).collect::<Vec<_>>()) {
        let result = agent_loop::run(&context, prompt.as_str(), &settings).await.unwrap();
        assert!(result.text == answer, "{prompt} has another answer");
    }
}

/// The number of runs in a file. All are whole.
fn count(file: &Path) -> usize {
    agent_loop_proto::recording::read(&std::fs::read(file).unwrap()).unwrap().len()
}

#[tokio::test]
async fn runs_of_threads_and_processes_are_whole() {
    let (_folder, file) = file();
    let children: Vec<Child> = (0..PROCESSES).map(|n| start(this_program(), &file, &format!("process{n}thread"))).collect();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let file = &file;
            scope.spawn(move || record(file, &format!("thread{thread}")));
        }
    });
    for child in children {
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let threads = (0..THREADS).map(|thread| format!("thread{thread}"));
    let of_children = (0..PROCESSES).flat_map(|n| (0..THREADS).map(move |thread| format!("process{n}thread{thread}")));
    check_recorded(&file, threads.chain(of_children)).await;
    assert_eq!(count(&file), (PROCESSES + 1) * THREADS * RUNS);
}

/// A process that has no room cuts off what it has written, and not what others have.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_run_that_does_not_fit_leaves_those_of_others() {
    let (_folder, file) = file();
    // It may write files of a megabyte, which is less than the other one records.
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 2048; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
    let (limited, other) = (start(limited, &file, "limited"), start(this_program(), &file, "other"));
    limited.wait_with_output().unwrap();
    let other = other.wait_with_output().unwrap();
    assert!(other.status.success(), "{}", String::from_utf8_lossy(&other.stderr));
    check_recorded(&file, (0..THREADS).map(|thread| format!("other{thread}"))).await;
    assert!(count(&file) < 2 * THREADS * RUNS);
}
