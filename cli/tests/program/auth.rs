//! Keys and sign-ins: the commands `auth login`, `status` and `logout`, and runs with what they have stored.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;

use agent_mock::authorization::{AuthorizationServer, CLIENT_ID, Rules, browse};
use agent_mock::{Answer, Mock, Script, Speech};

use super::*;

const KEY: &str = "sk-test-1234567890";

/// The program with files for its keys.
fn with_files(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    command.env("AGENT_KEYRING", "file");
    command
}

fn call(place: &Place, arguments: &[&str], input: &str) -> Called {
    let mut command = with_files(place, arguments);
    command.stdin(Stdio::piped());
    let called = called(command, input);
    // Whatever it does, it shows no secret.
    assert!(!format!("{called:?}").contains(KEY) && !format!("{called:?}").contains("-secret"), "{called:?}");
    called
}

fn says(count: usize) -> Mock {
    Mock::start((0..count).fold(Script::new(), |script, _| script.answer(Answer::message(Speech::text("Yes.")))))
}

fn file_of(place: &Place, provider: &str) -> PathBuf {
    place.path(&format!("home/.credentials/{provider}.json"))
}

#[test]
fn a_key_is_stored_used_and_removed() {
    let place = Place::new();
    let called = call(&place, &["auth", "login", "anthropic"], &format!("{KEY}\n"));
    assert_eq!((called.code, called.out.as_str()), (0, ""), "{called:?}");
    assert!(called.err.contains("anthropic: stored in ") && called.err.contains("anthropic.json"), "{called:?}");

    let status = call(&place, &["auth", "status"], "");
    assert_eq!(status.code, 0);
    assert!(status.out.starts_with("anthropic ") && status.out.contains("key in ") && status.out.lines().count() == 2);
    let status = call(&place, &["auth", "status", "--json"], "");
    let line = &lines(&status.out)[0];
    assert_eq!((&line["provider"], &line["kind"]), (&json!("anthropic"), &json!("key")));
    assert_eq!(line["stored_in"], file_of(&place, "anthropic").to_str().unwrap());

    // Without a model that is named, and with one.
    let mock = says(2);
    for model in [&["--model", "anthropic/claude-haiku-4-5"][..], &["-m", "anthropic/claude-sonnet-5"]] {
        let called = call(&place, &[model, &["--base-url", &mock.url(), "--verbose", "Hi"]].concat(), "");
        assert_eq!((called.code, called.out.as_str()), (0, "Yes.\n"), "{called:?}");
    }
    assert!(mock.requests().iter().all(|request| request.headers["x-api-key"] == KEY));

    assert_eq!(call(&place, &["auth", "logout", "anthropic"], "").code, 0);
    assert!(!file_of(&place, "anthropic").exists());
    let status = call(&place, &["auth", "status", "anthropic"], "");
    assert_eq!(status.code, 1);
    assert!(status.out.contains("no key; agent auth login anthropic stores one"), "{status:?}");
    assert!(call(&place, &["auth", "logout", "anthropic"], "").err.contains("nothing is stored for anthropic"));
}

#[test]
fn a_sign_in_chooses_the_model() {
    let place = Place::new();
    call(&place, &["auth", "login", "mistral"], KEY);
    // It is asked where nobody listens: what it was going to do is in its words.
    let mut command = with_files(&place, &["--verbose", "Hi"]);
    command.env("HTTPS_PROXY", "http://127.0.0.1:9").env("https_proxy", "http://127.0.0.1:9");
    let called = called(command, "");
    assert!(called.err.contains("> mistral/mistral-large-latest: ") && !called.err.contains(KEY), "{called:?}");
}

#[test]
fn the_environment_takes_precedence_over_what_is_stored() {
    let place = Place::new();
    call(&place, &["auth", "login", "openai"], KEY);
    let mock = says(1);
    let mut command = with_files(&place, &["-m", "openai/gpt-5.1", "--base-url", &mock.url(), "Hi"]);
    command.env("OPENAI_API_KEY", "sk-environment-1234567890");
    assert_eq!(called(command, "").code, 0);
    assert_eq!(mock.requests()[0].headers["authorization"], "Bearer sk-environment-1234567890");
    let mut command = with_files(&place, &["auth", "status"]);
    command.env("OPENAI_API_KEY", "sk-environment-1234567890");
    let status = called(command, "");
    assert!(status.out.contains("the environment variable OPENAI_API_KEY; key in") && status.out.contains("not used"));
    assert!(!status.out.contains("sk-"), "{status:?}");
}

#[test]
fn an_agent_in_a_file_names_what_is_stored() {
    let place = Place::new();
    let mock = says(1);
    let text = format!("name = \"tester\"\nmodel = \"openai/m\"\nbase_url = \"{}\"\napi_key = \"keyring\"\n", mock.url());
    place.write("agent.toml", &text);
    let called = call(&place, &["agent.toml", "Hi"], "");
    assert_eq!(called.code, 1);
    assert!(called.err.contains("nothing is stored for openai: sign in with `agent auth login openai`"), "{called:?}");
    call(&place, &["auth", "login", "openai"], KEY);
    assert_eq!(call(&place, &["agent.toml", "Hi"], "").code, 0);
    assert_eq!(mock.requests()[0].headers["authorization"], format!("Bearer {KEY}"));
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    call(&place, &["auth", "login", "openai"], KEY);
    let path = file_of(&place, "openai");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode(&path), mode(path.parent().unwrap())], [0o600, 0o700]);

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let mock = says(1);
    let called = call(&place, &["-m", "openai/m", "--base-url", &mock.url(), "Hi"], "");
    assert_eq!(called.code, 1);
    assert!(called.err.contains("is open to other users (mode 644) and is not used"), "{called:?}");
    assert!(call(&place, &["auth", "status", "openai"], "").out.contains("mode 644"));
    assert!(!mock.was_asked());
}

#[test]
fn wrong_usage_says_what_is_right() {
    let place = Place::new();
    let long = "x".repeat((64 << 10) + 1);
    let wrong: [(&[&str], &str, &str); 10] = [
        (&["auth", "login", "anthropic", KEY], "", "a key is no argument"),
        (&["auth", "login", KEY], "", "a key is no argument"),
        (&["auth", "login", "antropic"], KEY, "unknown provider \"antropic\"; did you mean \"anthropic\"?"),
        (&["auth", "status", "opnai"], "", "did you mean \"openai\"?"),
        (&["auth", "login", "openai"], " \n", "there is no key: type it, or pipe it into standard input"),
        (&["auth", "login", "openai"], "one\ntwo", "the key has a line break"),
        (&["auth", "login", "openai"], "keyring\n", "\"keyring\" is no key"),
        (&["auth", "login", "openai"], &long, "the key has more than 65536 bytes: is it another file?"),
        (&["auth", "login", "anthropic", "--device"], "", "--device: anthropic has no sign-in for the programs of others"),
        (&["auth", "login", "../x", "--token-url", "http://127.0.0.1/t"], "", "can be no provider's name"),
    ];
    for (arguments, input, why) in wrong {
        let called = call(&place, arguments, input);
        assert_eq!(called.code, 2, "{arguments:?}: {called:?}");
        assert!(called.err.contains(why), "{arguments:?}: {called:?}");
    }
    let mut command = place.command(&["auth", "status"]);
    command.env("AGENT_KEYRING", "files");
    assert!(called(command, "").err.contains("AGENT_KEYRING is \"files\"; set it to auto, system or file"));
}

type Begun = (Child, BufReader<std::process::ChildStderr>, String);

/// A login of a server's own, that has begun: the program, and what it has shown up to the line with this text.
fn begun(place: &Place, server: &AuthorizationServer, more: &[&str], mark: &str) -> Begun {
    begun_as("corp", place, server, more, mark)
}

fn begun_as(provider: &str, place: &Place, server: &AuthorizationServer, more: &[&str], mark: &str) -> Begun {
    let (authorize, token, device) = (server.url("authorize"), server.url("token"), server.url("device"));
    let own = [
        "auth",
        "login",
        provider,
        "--client-id",
        CLIENT_ID,
        "--authorize-url",
        &authorize,
        "--token-url",
        &token,
        "--device-url",
        &device,
        "--scope",
        "models",
        "--scope",
        "offline_access",
    ];
    let mut child = with_files(place, &[&own, more].concat()).spawn().unwrap();
    let mut shown = BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    while !text.contains(mark) {
        assert!(shown.read_line(&mut text).unwrap() > 0, "{text}");
    }
    (child, shown, text)
}

/// The rest of what a login shows, and its code.
fn ended(mut child: Child, mut shown: BufReader<std::process::ChildStderr>) -> (Option<i32>, String) {
    let mut text = String::new();
    shown.read_to_string(&mut text).unwrap();
    (child.wait().unwrap().code(), text)
}

/// Signs in with a browser.
fn sign_in(place: &Place, server: &AuthorizationServer) {
    let (child, shown, text) = begun(place, server, &[], "Ctrl-C ends the wait");
    let url = text.lines().map(str::trim).find(|line| line.starts_with("http://")).unwrap();
    assert!(browse(url).contains("You are signed in"));
    let (code, text) = ended(child, shown);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("corp: stored in ") && !text.contains("secret"), "{text}");
}

#[test]
fn a_server_of_one_s_own_speaks_oauth_whatever_the_provider_does() {
    let place = Place::new();
    let server = AuthorizationServer::start(Rules::default());
    let (child, shown, text) = begun_as("openrouter", &place, &server, &[], "Ctrl-C ends the wait");
    let url = text.lines().map(str::trim).find(|line| line.starts_with("http://")).unwrap();
    assert!(browse(url).contains("You are signed in"));
    let (code, text) = ended(child, shown);
    assert_eq!((code, server.wrong()), (Some(0), Vec::new()), "{text}");
    assert!(call(&place, &["auth", "status", "openrouter"], "").out.contains("OAuth sign-in (good for "));
}

#[test]
fn a_browser_signs_in_and_tokens_are_refreshed() {
    let place = Place::new();
    let server = AuthorizationServer::start(Rules::default());
    sign_in(&place, &server);
    let status = call(&place, &["auth", "status", "corp"], "");
    assert_eq!(status.code, 0);
    assert!(status.out.contains("OAuth sign-in (good for 60 min, refreshed when used)"), "{status:?}");

    // The second one after a refusal.
    let script = Script::new().answer(Answer::message(Speech::text("Yes."))).answer(Answer::text("no").status(401));
    let mock = Mock::start(script.answer(Answer::message(Speech::text("Yes."))));
    for _ in 0..2 {
        let called = call(&place, &["-m", "corp/m", "--base-url", &mock.url(), "--verbose", "Hi"], "");
        assert_eq!((called.code, called.out.as_str()), (0, "Yes.\n"), "{called:?}");
    }
    let sent: Vec<String> = mock.requests().iter().map(|request| request.headers["authorization"].clone()).collect();
    assert_eq!(sent, ["Bearer access-secret-1", "Bearer access-secret-1", "Bearer access-secret-2"]);
    assert_eq!((server.refreshes(), server.wrong()), (1, Vec::new()));
}

#[test]
fn of_two_processes_one_refreshes() {
    let place = Place::new();
    let server = AuthorizationServer::start(Rules { lifetime_s: 0, ..Rules::default() });
    sign_in(&place, &server);
    server.set_lifetime(3600);
    let mock = says(2);
    let url = mock.url();
    let both: Vec<Child> =
        (0..2).map(|_| with_files(&place, &["-m", "corp/m", "--base-url", &url, "Hi"]).spawn().unwrap()).collect();
    for child in both {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.stdout, b"Yes.\n", "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!((server.refreshes(), server.wrong()), (1, Vec::new()));
    assert!(mock.requests().iter().all(|request| request.headers["authorization"] == "Bearer access-secret-2"));
}

#[test]
fn a_sign_in_that_is_over_says_how_to_begin_again() {
    let place = Place::new();
    let server = AuthorizationServer::start(Rules { lifetime_s: 0, ..Rules::default() });
    sign_in(&place, &server);
    server.revoke();
    let mock = says(1);
    let called = call(&place, &["-m", "corp/m", "--base-url", &mock.url(), "Hi"], "");
    assert_eq!(called.code, 1);
    assert!(called.err.contains("the sign-in to corp has ended") && called.err.contains("`agent auth login corp`"), "{called:?}");
    assert!(!mock.was_asked());
}

#[test]
fn a_refusal_in_the_browser_stores_nothing() {
    let place = Place::new();
    let server = AuthorizationServer::start(Rules { refuses: true, ..Rules::default() });
    let (child, shown, text) = begun(&place, &server, &[], "Ctrl-C ends the wait");
    browse(text.lines().map(str::trim).find(|line| line.starts_with("http://")).unwrap());
    let (code, text) = ended(child, shown);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("the sign-in was refused: access_denied"), "{text}");
    assert!(!file_of(&place, "corp").exists());
}

#[test]
fn a_code_for_another_device_signs_in() {
    let place = Place::new();
    let server = AuthorizationServer::start(Rules { polls: vec!["authorization_pending"], ..Rules::default() });
    let (child, shown, text) = begun(&place, &server, &["--device"], "Ctrl-C ends the wait");
    assert!(text.contains("type in the code WDJB-MJHT") && text.contains("good for 10 min"), "{text}");
    let (code, text) = ended(child, shown);
    assert_eq!(code, Some(0), "{text}");
    assert!(file_of(&place, "corp").exists() && server.wrong().is_empty(), "{:?}", server.wrong());

    for (answer, why) in [("access_denied", "the sign-in was refused"), ("expired_token", "nobody has typed in the code in time")]
    {
        let server = AuthorizationServer::start(Rules { polls: vec![answer], ..Rules::default() });
        let (child, shown, _) = begun(&place, &server, &["--device"], "Ctrl-C ends the wait");
        let (code, text) = ended(child, shown);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains(why), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_sign_in() {
    let place = Place::new();
    let server = AuthorizationServer::start(Rules::default());
    let (child, shown, _) = begun(&place, &server, &[], "Ctrl-C ends the wait");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(ended(child, shown).0, Some(130));
    assert!(!file_of(&place, "corp").exists());
}

#[test]
fn secrets_go_to_encrypted_addresses() {
    let place = Place::new();
    let arguments = [
        "auth",
        "login",
        "corp",
        "--client-id",
        "a",
        "--authorize-url",
        "http://a.example/a",
        "--token-url",
        "https://a.example/t",
    ];
    let called = call(&place, &arguments, "");
    assert_eq!(called.code, 2, "{called:?}");
    assert!(called.err.contains("an address with https is needed, secrets are sent to it"), "{called:?}");
}

#[test]
fn a_server_without_a_name_gets_the_key_of_openai_compatible() {
    let place = Place::new();
    let refusing = Mock::start(Script::new().answer(Answer::text("no").status(401)));
    let called = call(&place, &["--base-url", &refusing.url(), "Hi"], "");
    assert_eq!(called.code, 1, "{called:?}");
    assert!(called.err.contains("agent auth login openai-compatible, and --model openai-compatible/ID"), "{called:?}");

    assert_eq!(call(&place, &["auth", "login", "openai-compatible"], &format!("{KEY}\n")).code, 0);
    let mock = says(1);
    let called = call(&place, &["--base-url", &mock.url(), "-m", "openai-compatible/x", "Hi"], "");
    assert_eq!((called.code, called.out.as_str()), (0, "Yes.\n"), "{called:?}");
    assert_eq!(mock.requests()[0].headers["authorization"], format!("Bearer {KEY}"));
}

#[test]
fn without_a_key_it_is_said_how_to_store_one() {
    let place = Place::new();
    let model = ["-m", "anthropic/claude-sonnet-4-5"];
    let advice = "ANTHROPIC_API_KEY, or give api_key\n  or store one: agent auth login anthropic";
    let called = call(&place, &[&model[..], &["Hi"]].concat(), "");
    assert!(called.code == 1 && called.err.contains(advice), "{called:?}");
    let called = call(&place, &[&["chat"], &model[..]].concat(), "Hi\n");
    assert!(called.out.contains(advice), "{called:?}");
}

#[test]
fn a_stored_key_goes_to_nobody_over_plain_http() {
    let place = Place::new();
    assert_eq!(call(&place, &["auth", "login", "anthropic"], &format!("{KEY}\n")).code, 0);
    let called = call(&place, &["-m", "anthropic/claude-haiku-4-5", "--base-url", "http://llm.example", "Hi"], "");
    assert_eq!(called.code, 1, "{called:?}");
    let why = "what is stored for anthropic is not sent to llm.example over plain http";
    assert!(called.err.contains(why), "{called:?}");
}

/// The folder of the keys is in the root of the tools, and has a link to it.
#[cfg(unix)]
#[test]
fn tools_do_not_reach_what_is_stored() {
    let place = Place::new();
    assert_eq!(call(&place, &["auth", "login", "anthropic"], &format!("{KEY}\n")).code, 0);
    let stored = std::fs::read_to_string(file_of(&place, "anthropic")).unwrap();
    std::os::unix::fs::symlink("home/.credentials", place.path("link")).unwrap();
    let at = "home/.credentials/anthropic.json";
    let refused = [
        ("read_file", json!({ "path": at })),
        ("read_file", json!({ "path": "link/anthropic.json" })),
        ("read_file", json!({ "path": file_of(&place, "anthropic") })),
        ("read_file", json!({ "path": "home/../home/./.credentials//anthropic.json" })),
        ("list_directory", json!({ "path": "home/.credentials" })),
        ("search_text", json!({ "pattern": "sk-", "path": at })),
        ("search_text", json!({ "pattern": "sk-", "path": "link", "hidden": true, "ignored": true })),
        ("find_files", json!({ "pattern": "*.json", "path": "home/.credentials", "hidden": true })),
        ("write_file", json!({ "path": at, "content": "{}" })),
        ("write_file", json!({ "path": "home/.credentials/inner/new.json", "content": "{}" })),
        ("edit_file", json!({ "path": at, "edits": [{ "old_text": "sk-", "new_text": "sk." }] })),
    ];
    let silent = [
        ("search_text", json!({ "pattern": "sk-tes[t]", "hidden": true, "ignored": true })),
        ("find_files", json!({ "pattern": "anthropic*", "hidden": true, "ignored": true })),
    ];
    let calls = refused.iter().chain(&silent).enumerate().map(|(at, (name, arguments))| {
        json!({ "delta": { "tool_call": { "id": format!("c{at}"), "name": name, "arguments": arguments } } })
    });
    let calls: Vec<_> = calls.chain([json!({ "end": "tool_use" })]).collect();
    let script = json!([calls, [{ "delta": "Done." }, { "end": "stop" }]]);
    let tools = r#"tools = ["read_file", "write_file", "edit_file", "list_directory", "find_files", "search_text"]"#;
    let spec = place.spec(&script, tools);
    let called = call(&place, &["--spec", spec.to_str().unwrap(), "--yes", "--json", "Go"], "");
    assert_eq!(called.code, 0, "{called:?}");
    let ends: Vec<_> = lines(&called.out).into_iter().filter(|line| line["type"] == "tool_execution_end").collect();
    assert_eq!(ends.len(), refused.len() + silent.len());
    let end_of = |at: usize| ends.iter().find(|end| end["tool_call_id"] == format!("c{at}")).unwrap().to_string();
    for (at, (name, arguments)) in refused.iter().enumerate() {
        let end = end_of(at);
        assert!(end.contains("is where a user's keys are stored, which no tool for files can use"), "{name} {arguments}: {end}");
    }
    // The key is in none: `call` has looked. Nor is the name of its file.
    for (at, (name, _)) in silent.iter().enumerate() {
        let end = end_of(refused.len() + at);
        assert!(end.contains("\"is_error\":false") && !end.contains("credentials"), "{name}: {end}");
    }
    assert_eq!(std::fs::read_to_string(file_of(&place, "anthropic")).unwrap(), stored);
    assert_eq!(std::fs::read_dir(place.path("home/.credentials")).unwrap().count(), 2);

    // And a root that is that folder.
    let spec = place.spec(&script, "tools = [\"read_file\"]\nroot = \"home/.credentials\"");
    let called = call(&place, &["--spec", spec.to_str().unwrap(), "Go"], "");
    assert!(called.code == 2 && called.err.contains("a user's keys are stored there"), "{called:?}");
}

/// What the system shows of a process, and what its commands get.
#[cfg(target_os = "linux")]
#[test]
fn no_secret_is_in_the_lists_of_processes_or_in_commands() {
    let place = Place::new();
    call(&place, &["auth", "login", "openai"], KEY);
    let calls = Speech::call("run_command", json!({ "command": "env; ls -R . || true" }));
    let slow = Answer::message(Speech::text("It begins, and goes on.")).frame_delay_ms(200);
    let mock = Mock::start(Script::new().answer(Answer::message(calls)).answer(slow));
    let url = mock.url();
    let arguments = ["-m", "openai/gpt-5.1", "--base-url", &url, "-t", "run_command", "--yes", "--json", "--verbose", "Hi"];
    let mut child = with_files(&place, &arguments).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("It ") {
        assert!(out.read_line(&mut text).unwrap() > 0, "{text}");
    }
    // It has sent the key, and is about to get the rest of the answer.
    for file in ["cmdline", "environ"] {
        let shown = std::fs::read(format!("/proc/{}/{file}", child.id())).unwrap();
        assert!(!shown.is_empty() && !String::from_utf8_lossy(&shown).contains(KEY), "{file}");
    }
    out.read_to_string(&mut text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && text.contains("PATH=") && !text.contains(KEY), "{text}");
    assert!(!String::from_utf8_lossy(&output.stderr).contains(KEY));
    let requests = mock.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|request| request.headers["authorization"] == format!("Bearer {KEY}")));
    assert!(!requests[1].body.to_string().contains(KEY));
}

#[cfg(target_os = "linux")]
#[test]
fn a_key_that_is_typed_is_not_shown() {
    let place = Place::new();
    let command = with_files(&place, &[]);
    let program = command.get_program().to_owned();
    let line = format!("{} auth login anthropic", program.to_str().unwrap());
    // The terminal.
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--flush", "--return", "--command", &line, "/dev/null"]).env_clear();
    terminal.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(place.0.path());
    terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = terminal.spawn() else {
        println!("skipped: a key that is typed: the program script is not installed");
        return;
    };
    let (mut shown, mut out) = (Vec::new(), child.stdout.take().unwrap());
    while !String::from_utf8_lossy(&shown).contains("key for anthropic (not shown): ") {
        let mut byte = [0];
        out.read_exact(&mut byte).unwrap();
        shown.push(byte[0]);
    }
    writeln!(child.stdin.as_ref().unwrap(), "{KEY}").unwrap();
    out.read_to_end(&mut shown).unwrap();
    let shown = String::from_utf8_lossy(&shown).into_owned();
    assert!(child.wait().unwrap().success(), "{shown}");
    assert!(shown.contains("a key is made at https://platform.claude.com/settings/keys") && !shown.contains(KEY), "{shown}");
    assert!(std::fs::read_to_string(file_of(&place, "anthropic")).unwrap().contains(KEY));
}

#[test]
fn without_a_keyring_files_are_used_and_named() {
    let place = Place::new();
    let bus = ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent");
    let auto = |arguments: &[&str], input: &str| {
        let mut command = place.command(arguments);
        command.stdin(Stdio::piped()).env(bus.0, bus.1);
        called(command, input)
    };
    if !cfg!(target_os = "linux") {
        return;
    }
    let login = auto(&["auth", "login", "openai"], KEY);
    assert_eq!(login.code, 0, "{login:?}");
    assert!(login.err.contains("openai.json (no keyring: ") && file_of(&place, "openai").exists(), "{login:?}");
    let status = auto(&["auth", "status"], "");
    assert!(status.out.contains("openai.json") && status.out.contains("keys are stored in files"), "{status:?}");

    let mut command = place.command(&["auth", "login", "openai"]);
    command.stdin(Stdio::piped()).env(bus.0, bus.1).env("AGENT_KEYRING", "system");
    let called = called(command, KEY);
    assert_eq!(called.code, 1, "{called:?}");
    assert!(called.err.contains("the system's keyring: ") && called.err.contains("AGENT_KEYRING=file"), "{called:?}");
}

/// A login that fails is none.
#[cfg(target_os = "linux")]
#[test]
fn a_login_without_a_keyring_leaves_no_provider_to_choose() {
    let place = Place::new();
    let called = |keyring: &str, arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.stdin(Stdio::piped()).env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent").env("AGENT_KEYRING", keyring);
        called(command, KEY)
    };
    assert_eq!(called("system", &["auth", "login", "anthropic"]).code, 1);
    let ran = called("auto", &["Hi"]);
    assert!(ran.code == 1 && ran.err.contains("no model is configured"), "{ran:?}");
    let status = called("auto", &["auth", "status"]);
    assert!(status.code == 0 && !status.out.contains("anthropic"), "{status:?}");
    let logout = called("auto", &["auth", "logout", "anthropic"]);
    assert!(logout.code == 0 && logout.err.contains("nothing is stored for anthropic"), "{logout:?}");
}
