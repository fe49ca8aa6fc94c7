//! The sandbox of commands: what cannot be reached from inside, and that work in the root can be done.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::command::{folder, mark, marked, with};
use super::results;
use crate::builtin::BuiltinTools;

/// Whether the system has all of it; else the tests say that they skip.
fn is_whole() -> bool {
    let check = Command::new("unshare").args(["-U", "-m", "true"]).status();
    let abi = std::fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_else(|_| "landlock".to_owned());
    let whole = check.is_ok_and(|status| status.success()) && abi.contains("landlock");
    if !whole {
        println!("skipped: this system has no Landlock, or gives no user namespace");
    }
    whole
}

/// Whether a program is there; else the test says that it skips that part.
fn has(program: &str) -> bool {
    let has = Path::new("/usr/bin").join(program).exists();
    if !has {
        println!("skipped in part: there is no /usr/bin/{program}");
    }
    has
}

async fn run(tools: &BuiltinTools, command: &str) -> String {
    results(tools.clone(), &[("run_command", json!({ "command": command }))]).await.remove(0).0
}

/// What Python needs to make system calls.
const CALLS: &str = "
import ctypes, os, socket, sys, struct
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    return result if result >= 0 else -ctypes.get_errno()
def reached(): print('REACH' + 'ED')
";

/// A command of these lines of Python.
fn python(lines: &str) -> String {
    format!("/usr/bin/python3 - <<'END'\n{CALLS}{lines}\nEND")
}

/// An attempt of Python's: lines that end by themselves where it fails.
fn attempt(lines: &str) -> String {
    python(&format!("try:\n    {}\n    reached()\nexcept OSError as e: print(e)", lines.replace('\n', "\n    ")))
}

/// An attempt to make a system call, by its number.
fn calling(number: libc::c_long, arguments: &str) -> String {
    python(&format!("r = call({number}{arguments})\nprint(r)\nif r not in (-1, -38): reached()"))
}

#[tokio::test]
async fn nothing_outside_is_read() {
    if !is_whole() {
        return;
    }
    let (root, outside) = (folder(), folder());
    std::fs::write(outside.path().join("secret"), "REACHED").expect("a file");
    std::os::unix::fs::symlink(outside.path(), root.path().join("link_before")).expect("a link");
    let (tools, out) = (with(root.path(), json!({ "sandbox": "required" })), outside.path().display().to_string());
    let home = std::env::var("HOME").unwrap_or_default();
    let name = outside.path().file_name().expect("a name").to_string_lossy().into_owned();
    let (host, ls) = (std::process::id(), |path: &str| format!("ls -a {path} && echo REACHED"));
    let cat = |path: &str| format!("cat {path} > copy && echo REACHED");
    for command in [
        cat(&format!("{out}/secret")),
        cat(&format!("../{name}/secret")),
        cat("link_before/secret"),
        format!("ln -s {out} link_inside; cat link_inside/secret"),
        format!("ln -s {out}/secret file_link; cat file_link"),
        format!("ln {out}/secret hard && cat hard && echo REACHED"),
        format!("cp -al {out} hard_tree && cat hard_tree/secret"),
        cat(&format!("/proc/self/root{out}/secret")),
        cat(&format!("/proc/{host}/root{out}/secret")),
        cat(&format!("/proc/{host}/environ")),
        cat("/proc/self/environ"),
        cat(&format!("/proc/{host}/maps")),
        cat("/etc/passwd"),
        cat("/etc/shadow"),
        cat("/etc/ssh/ssh_config"),
        cat("/dev/tty"),
        cat("/dev/kmsg"),
        cat("/dev/mem"),
        cat("/sys/kernel/uevent_seqnum"),
        ls("/"),
        ls("/etc"),
        ls("/proc"),
        ls("/home"),
        ls("/root"),
        ls("/tmp"),
        ls("/var"),
        ls("/run"),
        ls("/dev"),
        ls(&out),
        ls(&format!("'{home}'")),
        format!("cd {out} && cat secret"),
        format!("mv {out}/secret taken && cat taken"),
        format!("{out}/secret; tar -cf - {out}/secret | grep -a REACHED"),
    ] {
        let text = run(&tools, &command).await;
        assert!(!text.contains("REACHED"), "{command}\n{text}");
        assert!(
            text.contains("ermission denied")
                || text.contains("not permitted")
                || text.contains("cross-device")
                || text.contains("No such"),
            "{command}\n{text}"
        );
    }
}

/// What a file is: its content, mode, owner, group, time and number of links.
fn state(path: &Path) -> (String, u32, u32, u32, i64, u64) {
    let about = std::fs::metadata(path).expect("a file");
    let content = if about.is_dir() { String::new() } else { std::fs::read_to_string(path).expect("a file") };
    (content, about.mode(), about.uid(), about.gid(), about.mtime(), about.nlink())
}

#[tokio::test]
async fn nothing_outside_is_changed() {
    if !is_whole() {
        return;
    }
    let (root, outside) = (folder(), folder());
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "as it was").expect("a file");
    std::os::unix::fs::symlink(&secret, root.path().join("link_before")).expect("a link");
    let before = (state(&secret), state(outside.path()));
    let (tools, out) = (with(root.path(), json!({ "sandbox": "required" })), outside.path().display().to_string());
    for command in [
        format!("echo no > {out}/secret"),
        format!("echo no >> {out}/secret"),
        format!("echo no > {out}/new"),
        "echo no > link_before".to_owned(),
        format!("ln -s {out} link_inside; echo no > link_inside/new"),
        format!("rm {out}/secret"),
        format!("mkdir {out}/new"),
        format!("mkfifo {out}/new"),
        format!("ln -s x {out}/new"),
        format!("echo > mine; ln mine {out}/new"),
        format!("mv mine {out}/new"),
        format!("mv {out}/secret mine"),
        format!("mv {out} mine"),
        format!("chmod 777 {out}/secret"),
        "chmod 777 link_before".to_owned(),
        format!("chown 1:1 {out}/secret"),
        format!("touch -d 2001-01-01 {out}/secret"),
        format!("truncate -s 0 {out}/secret"),
        attempt(&format!("os.truncate('{out}/secret', 0)")),
        attempt(&format!("os.rename('{out}/secret', '{out}/renamed')")),
        attempt(&format!("os.setxattr('{out}/secret', 'user.no', b'no')")),
        attempt(&format!("os.chmod('{out}', 0o777)")),
        attempt("os.chmod('/usr/bin/env', 0o755)"),
        attempt("d = os.open('/usr/bin/env', os.O_RDONLY)\nos.fchmod(d, 0o755)"),
        "touch /usr/lib/new /usr/new /etc/new /tmp/new /var/tmp/new /dev/shm/new /new".to_owned(),
        "mknod block b 8 0 || mknod character c 1 1 || exit 1".to_owned(),
        "echo no > /proc/sys/kernel/hostname".to_owned(),
        attempt("socket.sethostname('no')"),
        "mount -t tmpfs none .".to_owned(),
        format!("mount --bind {out} ."),
        "umount /".to_owned(),
        "chroot . true".to_owned(),
    ] {
        let text = run(&tools, &command).await;
        assert!(
            text.contains("ermission denied")
                || text.contains("not permitted")
                || text.contains("Read-only")
                || text.contains("be superuser")
                || text.contains("cross-device"),
            "{command}\n{text}"
        );
        assert!(!text.contains("REACHED") && before == (state(&secret), state(outside.path())), "{command}\n{text}");
    }
    let names = ["/usr/lib/new", "/usr/new", "/etc/new", "/tmp/new", "/var/tmp/new", "/dev/shm/new", "/new"];
    assert!(names.iter().all(|name| !Path::new(name).exists()));
}

#[tokio::test]
async fn other_processes_and_the_kernel_are_out_of_reach() {
    if !is_whole() || !has("python3") {
        return;
    }
    let (root, mark) = (folder(), mark());
    let mut other = Command::new("sleep").arg(&mark).spawn().expect("a process");
    let (tools, pid) = (with(root.path(), json!({ "sandbox": "required" })), other.id());
    let mut commands = vec![
        format!("kill -TERM {pid} && echo REACHED"),
        format!("kill -0 {pid} && echo REACHED"),
        "kill -9 $PPID && echo REACHED".to_owned(),
        attempt(&format!("os.pidfd_open({pid})\nimport signal\nsignal.pidfd_send_signal(os.pidfd_open({pid}), 15)")),
        format!("prlimit --pid {pid} --nofile=10:10 && echo REACHED"),
        "prlimit --pid $PPID --nofile=0:0 && echo REACHED".to_owned(),
        attempt("socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)"),
        attempt("socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)"),
        "unshare -U true && echo REACHED".to_owned(),
        "unshare -r -m true && echo REACHED".to_owned(),
        "nsenter -t 1 -m true && echo REACHED".to_owned(),
        // Which number of clone's flags is a namespace: of users.
        calling(libc::SYS_clone, &format!(", {}, 0, 0, 0, 0", libc::CLONE_NEWUSER | libc::SIGCHLD)),
        calling(libc::SYS_clone3, ", struct.pack('11Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0), 88"),
        calling(libc::SYS_ptrace, &format!(", 16, {pid}, 0, 0")),
        calling(libc::SYS_process_vm_readv, &format!(", {pid}, 0, 0, 0, 0, 0")),
        calling(libc::SYS_process_vm_writev, &format!(", {pid}, 0, 0, 0, 0, 0")),
        calling(libc::SYS_name_to_handle_at, ", -100, b'/etc/passwd', ctypes.create_string_buffer(200), b'1234', 0"),
        calling(libc::SYS_open_by_handle_at, ", -100, ctypes.create_string_buffer(200), 0"),
        calling(libc::SYS_io_uring_setup, ", 8, ctypes.create_string_buffer(200)"),
        calling(libc::SYS_bpf, ", 0, ctypes.create_string_buffer(200), 100"),
        calling(libc::SYS_perf_event_open, ", ctypes.create_string_buffer(200), 0, -1, -1, 0"),
        calling(libc::SYS_keyctl, ", 0, -3, 1"),
        calling(libc::SYS_userfaultfd, ", 1"),
        calling(libc::SYS_pivot_root, ", b'.', b'.'"),
        calling(libc::SYS_swapon, ", b'x', 0"),
        calling(libc::SYS_finit_module, ", 0, b'', 0"),
        python("r = libc.prctl(39, 0, 0, 0, 0)\nprint('not permitted' if r == 1 else 'REACHED')"),
        // What this program has open: nothing but the three.
        python("for d in range(3, 1000):\n    try:\n        os.fstat(d)\n        reached()\n    except OSError: pass\nprint(-1)"),
    ];
    if cfg!(target_arch = "x86_64") {
        // `getpid`, by its number among those with short pointers.
        commands.push(calling(0x4000_0000 + 39, ""));
    }
    for command in commands {
        let text = run(&tools, &command).await;
        assert!(!text.contains("REACHED") && text.starts_with("Exit status"), "{command}\n{text}");
        let refused = ["not permitted", "\n-1\n", "\n-38\n", "ermission denied", "failed", "not found"];
        assert!(refused.iter().any(|refused| text.contains(refused)), "{command}\n{text}");
    }
    assert!(other.try_wait().expect("a process").is_none(), "it was reached by a signal");
    other.kill().expect("killed");
    other.wait().expect("killed");
}

#[tokio::test]
async fn shared_memory_of_others_is_not_there() {
    if !is_whole() || !has("python3") {
        return;
    }
    let key = std::process::id();
    let make = format!("call({}, {key}, 4096, {})", libc::SYS_shmget, libc::IPC_CREAT | 0o600);
    let python = |lines: &str| {
        let done = Command::new("/usr/bin/python3").arg("-c").arg(format!("{CALLS}{lines}")).output().expect("python3");
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    let number = python(&format!("print({make})"));
    assert!(number.trim().parse::<i64>().is_ok_and(|number| number >= 0), "{number}");
    let root = folder();
    let tools = with(root.path(), json!({ "sandbox": "required" }));
    let inside = run(&tools, &self::python(&format!("print(call({}, {key}, 4096, 0))", libc::SYS_shmget))).await;
    let made = run(&tools, &self::python(&format!("print({make} >= 0)"))).await;
    python(&format!("call({}, {}, {}, 0)", libc::SYS_shmctl, number.trim(), libc::IPC_RMID));
    assert_eq!(inside, format!("Exit status 0.\n\n{}\n", -libc::ENOENT));
    assert_eq!(made, "Exit status 0.\n\nTrue\n", "it has its own");
}

/// A listener of each kind, and attempts to reach it.
fn sockets(root: &Path) -> (Vec<Box<dyn std::any::Any>>, Vec<String>, Vec<String>) {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let name = format!("agent-loop-{}", tcp.local_addr().expect("a port").port());
    let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).expect("a name")).expect("a socket");
    let path = UnixListener::bind(root.join("listener")).expect("a socket");
    let datagrams = UnixDatagram::bind(root.join("datagrams")).expect("a socket");
    let (tcp_at, udp_at) = (tcp.local_addr().expect("a port").port(), udp.local_addr().expect("a port").port());
    let network = [
        format!("socket.create_connection(('127.0.0.1', {tcp_at}))"),
        format!("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {udp_at}))"),
        "socket.socket(socket.AF_INET).bind(('127.0.0.1', 0))".to_owned(),
    ];
    let local = [
        format!("socket.socket(socket.AF_UNIX).connect('\\0{name}')"),
        "socket.socket(socket.AF_UNIX).connect('listener')".to_owned(),
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', 'datagrams')".to_owned(),
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', 'datagrams')".to_owned(),
        "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)".to_owned(),
        "socket.socket(socket.AF_VSOCK)".to_owned(),
    ];
    let open: Vec<Box<dyn std::any::Any>> = vec![Box::new((tcp, udp)), Box::new(hidden), Box::new(path), Box::new(datagrams)];
    (open, network.map(|lines| attempt(&lines)).into(), local.map(|lines| attempt(&lines)).into())
}

#[tokio::test]
async fn there_is_no_network_unless_it_is_given_and_local_servers_are_never_reached() {
    if !is_whole() || !has("python3") {
        return;
    }
    let root = folder();
    let (_open, network, local) = sockets(root.path());
    for has_network in [false, true] {
        let tools = with(root.path(), json!({ "sandbox": "required", "network": has_network }));
        for command in &local {
            let text = run(&tools, command).await;
            assert!(text.contains("not permitted"), "{command}\n{text}");
        }
        for command in &network {
            let text = run(&tools, command).await;
            assert!(text.contains(if has_network { "REACHED" } else { "not permitted" }), "{command}\n{text}");
        }
    }
    let tools = with(root.path(), json!({ "sandbox": "required" }));
    let pair = attempt("a, b = socket.socketpair()\na.send(b'x')\nassert b.recv(1) == b'x'");
    assert!(run(&tools, &pair).await.contains("REACHED"), "a pair of sockets is no network");
}

#[tokio::test]
async fn work_in_the_root_can_be_done() {
    if !is_whole() {
        return;
    }
    let root = folder();
    let tools = with(root.path(), json!({ "sandbox": "required" }));
    let mut commands = vec![
        "mkdir -p a/b; echo x > a/b/c; mv a/b/c a/d; rmdir a/b; ln -s d a/e; ln a/d a/f; cat a/e a/f; chmod 700 a/d; rm -r a",
        "printf '#!/bin/sh\\necho run' > s; chmod +x s; ./s; touch -d 2001-01-01 s; truncate -s 3 s; cp -p s t; mkfifo p",
        "echo x > $TMPDIR/f; f=$(mktemp); echo y > $f; mv $f here; ls ~ >/dev/null; seq 100000 | sort -R -S 1M | tail -1",
        "cat <(echo a) > /dev/null; echo to-stdout > /dev/stdout; echo to-stderr > /dev/stderr; : < /dev/zero; date",
        "for i in 1 2 3; do (sleep 0.01; echo $i) & done; wait; seq 10 | xargs -P 4 -n 1 echo",
        "id -u; exec 3>/dev/null; trap 'echo trapped' USR1; kill -USR1 $$",
    ];
    if has("git") {
        commands.push(
            "git init -q r && cd r && echo x > f && git add f && git -c user.name=a -c user.email=b commit -qm m && git log",
        );
    }
    if has("cc") {
        commands.push("printf 'int main(){return 0;}' > m.c && cc m.c -o m && ./m");
    }
    if has("python3") {
        commands.push(
            "/usr/bin/python3 -c 'import ssl,json,tempfile,subprocess,hashlib; tempfile.TemporaryFile(); \
            subprocess.run([\"true\"], check=True); import os; os.memfd_create(\"x\")'",
        );
    }
    for command in commands {
        let text = run(&tools, &format!("set -e; {command}")).await;
        assert!(text.starts_with("Exit status 0."), "{command}\n{text}");
        assert!(!text.contains("denied") && !text.contains("not permitted"), "{command}\n{text}");
    }
}

#[tokio::test]
async fn more_can_be_given_and_the_temporary_folder_goes() {
    if !is_whole() {
        return;
    }
    let (root, read, write) = (folder(), folder(), folder());
    std::fs::write(read.path().join("f"), "given\n").expect("a file");
    let options = json!({ "sandbox": "required", "readable": [read.path()], "writable": [write.path()] });
    let tools = with(root.path(), options);
    let (r, w) = (read.path().display(), write.path().display());
    let text = run(&tools, &format!("cat {r}/f; echo x > {w}/f; chmod 600 {w}/f; echo x > {r}/f; pwd -P; echo $TMPDIR")).await;
    let lines: Vec<&str> = text.lines().skip(2).collect();
    assert!(lines[0] == "given" && lines[1].ends_with("Read-only file system"), "{text}");
    assert_eq!(lines[2], root.path().canonicalize().expect("a folder").display().to_string());
    assert_eq!(state(&write.path().join("f")).0, "x\n");
    assert_eq!(state(&write.path().join("f")).1 & 0o777, 0o600);
    let temporary = Path::new(lines[3]);
    assert!(temporary.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-loop-")), "{text}");
    // It is removed after the result.
    while temporary.exists() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let text = run(&tools, "mkdir -p $HOME/a/b; touch $HOME/a/b/c; chmod 500 $HOME/a/b; chmod 000 $HOME/a; echo $HOME").await;
    while Path::new(text.lines().last().expect("a path")).exists() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn what_a_command_in_a_sandbox_leaves_is_ended() {
    if !is_whole() {
        return;
    }
    let (root, mark) = (folder(), mark());
    let tools = with(root.path(), json!({ "sandbox": "required" }));
    let text = run(&tools, &format!("setsid sleep {mark} & (sleep {mark} &); echo done")).await;
    assert!(text.contains("2 processes it had left running were ended.\n\ndone"), "{text}");
    assert_eq!(marked(&mark), [""; 0]);
}

#[test]
fn wrong_options_are_named() {
    let error = |options: Value| {
        let mut all = json!({ "tools": ["run_command"] });
        all.as_object_mut().expect("an object").extend(options.as_object().expect("an object").clone());
        BuiltinTools::from_json(&all).unwrap_err().message().to_owned()
    };
    assert_eq!(error(json!({ "sandbox": "on" })), "sandbox: expected \"auto\", \"required\" or \"off\", got a text");
    assert!(error(json!({ "readable": ["/no/such"] })).starts_with("readable: \"/no/such\": No such file"));
    assert!(error(json!({ "writable": vec!["/"; 31] })).starts_with("writable: more than 30 paths"));
    let env = "env: expected an object of texts (without NUL) by their names (without \"=\" and NUL), got an object";
    for wrong in [json!({ "A": 1 }), json!({ "A=B": "x" }), json!({ "": "x" }), json!({ "A": "x\0y" })] {
        assert_eq!(error(json!({ "env": wrong })), env);
    }
    let ms = "command_timeout_ms: expected a whole number of milliseconds, at least 1, got a number";
    assert_eq!(error(json!({ "command_timeout_ms": 0 })), ms);
}
