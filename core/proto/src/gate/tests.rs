use serde_json::{from_value, json, to_value};

use super::*;
use SubjectKind::{Command, Path, Text, Url};

/// Whether a rule with this pattern, in the list `allow` and in the list `deny`, is about a call with this subject.
fn matches(kind: SubjectKind, pattern: &str, value: &str) -> (bool, bool) {
    let compared = Compared::of(Some(&Subject::new("x", kind)), json!({ "x": value }).as_object().unwrap());
    let rule = Rule::new(&format!("t({pattern})")).unwrap();
    (rule.matches(&compared, Effect::Grant), rule.matches(&compared, Effect::Restrict))
}

/// Rows of a pattern, a subject, whether `allow` and whether `deny` match.
fn check(kind: SubjectKind, rows: &[(&str, &str, bool, bool)]) {
    let wrong: Vec<String> = rows
        .iter()
        .map(|(pattern, value, allow, deny)| (pattern, value, (*allow, *deny), matches(kind, pattern, value)))
        .filter(|(.., expected, found)| expected != found)
        .map(|(pattern, value, _, found)| format!("{pattern:?} of {value:?}: (allow, deny) is {found:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn commands() {
    let both = true;
    check(
        Command,
        &[
            // (pattern, command, does allow match, does deny match)
            ("git status", "git status", true, both),
            ("git status", " git status\n", true, true),
            ("git status", "git  status", false, true),
            ("git status", "git status -s", false, false),
            ("git status *", "git status", true, true),
            ("git status *", "git status -s", true, true),
            ("git status *", "git statusx", false, false),
            ("git status*", "git status -s", true, true),
            ("git status*", "git status; rm -rf /", false, true),
            ("git status*", "git status && rm -rf /", false, true),
            ("git status*", "git status & rm -rf /", false, true),
            ("git status*", "git status || rm -rf /", false, true),
            ("git status*", "git status | sh", false, true),
            ("git status*", "git status > /etc/passwd", false, true),
            ("git status*", "git status >> a", false, true),
            ("git status*", "git status < a", false, true),
            ("git status*", "git status $(rm -rf /)", false, true),
            ("git status*", "git status ${HOME}", false, true),
            ("git status*", "git status `rm -rf /`", false, true),
            ("git status*", "git status <(rm -rf /)", false, true),
            ("git status*", "git status\nrm -rf /", false, true),
            ("git status*", "git status\r\nrm -rf /", false, true),
            ("git status*", "git status \\\n rm", false, true),
            ("git status*", "git status \0rm", false, true),
            ("git status*", "git status \";\"", false, true),
            ("git status*", "(git status)", false, true),
            ("git * --dry-run", "git push # --dry-run", false, true),
            ("git status && git diff*", "git status && git diff --stat", true, true),
            ("git status && git diff*", "git status && git diff && rm a", false, true),
            // A wildcard could close the quotes, and make an operator of the rule's own semicolon.
            ("grep '*;*' f", "grep 'a;b' f", true, true),
            ("grep '*;*' f", "grep 'x'; rm -rf y '' f", false, true),
            ("*", "ls -l", true, true),
            ("*", "ls; rm a", false, true),
            ("ls \\*", "ls *", true, true),
            ("ls \\*", "ls a", false, false),
            ("rm *", "rm -rf y", true, true),
            ("rm *", "rm", true, true),
            ("rm *", "cd x && rm -rf y", false, true),
            ("rm *", "cd x;rm -rf y", false, true),
            ("rm *", "ls | xargs rm -f", false, true),
            ("rm *", "true || rm y", false, true),
            ("rm *", "echo $(rm -rf y)", false, true),
            ("rm *", "echo \"$(rm -rf y)\"", false, true),
            ("rm *", "echo `rm -rf y`", false, true),
            ("rm *", "{ rm -rf y; }", false, true),
            ("rm *", "(rm -rf y)", false, true),
            ("rm *", "sudo rm -rf y", false, true),
            ("rm *", "sudo -u root rm -rf y", false, true),
            ("rm *", "env A=b rm -rf y", false, true),
            ("rm *", "A=b C=d rm -rf y", false, true),
            ("rm *", "A=\"b c\" rm -rf y", false, true),
            ("rm *", "   rm    -rf  y", true, true),
            ("rm *", "rm\t-rf y", false, true),
            ("rm *", "/bin/rm -rf y", false, true),
            ("rm *", "\\rm -rf y", false, true),
            ("rm *", "r''m -rf y", false, true),
            ("rm *", "\"rm\" -rf y", false, true),
            ("rm *", "r\\\nm -rf y", false, true),
            ("rm *", "RM -rf y", false, true),
            ("rm *", "bash -c 'rm -rf y'", false, true),
            ("rm *", "if true; then rm y; fi", false, true),
            ("rm *", ">/dev/null rm -f x", false, true),
            ("rm *", "> /dev/null rm -f x", false, true),
            ("rm *", ">| out rm -f x", false, true),
            ("rm *", "2>&1 rm -f x", false, true),
            ("rm *", "<'a b' rm -f x", false, true),
            ("rm *", "<<<x rm -f x", false, true),
            ("rm *", "sudo >x rm -f x", false, true),
            ("rm *", ">x A=b /bin/rm -f x", false, true),
            ("rm *", "A+=1 rm -f x", false, true),
            ("rm *", "A[0]=1 rm -f x", false, true),
            ("rm *", "A[\"0 1\"]=1 rm -f x", false, true),
            ("rm *", "trap \"rm -f x\" EXIT", false, true),
            ("rm *", "coproc rm -f x", false, true),
            ("rm *", "su ann -c 'rm -f x'", false, true),
            ("rm *", "flock x rm -f x", false, true),
            ("rm *", "find . -name y -exec rm {} +", false, true),
            ("rm *", "find . \\( -name y -o -name z \\) -execdir /bin/rm {} +", false, true),
            ("rm *", "find . -ok sh -c 'rm x' \\;", false, true),
            ("rm *", "find . -name rm -print", false, false),
            ("rm *", "echo a > b rm", false, true),
            ("rm *", "echo a > rm", false, true),
            ("rm *", "echo a > b c rm", false, false),
            ("rm *", "echo a >b && ls rm", false, false),
            ("rm *", "git rm y", false, false),
            ("rm *", "rmdir y", false, false),
            ("rm *", "echo rm y", false, false),
            ("git push*", "git   push origin", false, true),
            ("curl*|*sh", "curl a | sh", true, true),
        ],
    );
}

#[test]
fn paths() {
    check(
        Path,
        &[
            (".env", ".env", true, true),
            (".env", "./.env", true, true),
            (".env", "./a/../.env", true, true),
            (".env", "a/./..//.env", true, true),
            (".env", ".env/", true, true),
            (".env", "a/.env", false, false),
            (".env", ".ENV", false, true),
            (".env", ".env.", false, true),
            (".env", ".env ", false, true),
            (".env", ".env::$DATA", false, true),
            (".env", ".\\.env", false, true),
            (".env", "a\\..\\.env", false, true),
            (".env", ".envrc", false, false),
            ("./a/../.env", ".env", true, true),
            ("**/.env", ".env", true, true),
            ("**/.env", "a/b/.env", true, true),
            ("**/.env", "a/b.env", false, false),
            ("**/.env", "../.env", false, true),
            ("**/.env", "/home/me/.env", false, true),
            ("src/**", "src/a/b.rs", true, true),
            ("src/**", "src", true, true),
            ("src/**", "srcs/a", false, false),
            ("src/**", "src/../.env", false, false),
            ("src/**", "src/../../src/a", false, false),
            ("src/**", "src\\..\\.env", false, false),
            ("src/**", "SRC/a", false, true),
            ("src/", "src/a/b.rs", true, true),
            ("src/*", "src/a.rs", true, true),
            ("src/*", "src/a/b.rs", false, false),
            ("src/*.rs", "src/a.rs", true, true),
            ("src/**/*.rs", "src/a.rs", true, true),
            ("src/**/*.rs", "src/a/b/c.rs", true, true),
            ("src/**/*.rs", "src/a/b/c.toml", false, false),
            ("**.pem", "a/b.pem", true, true),
            ("**", "a/b", true, true),
            ("**", ".", true, true),
            ("**", "", true, true),
            ("**", "../a", false, true),
            ("**", "..", false, true),
            ("**", "a/../../b", false, true),
            ("**", "/etc/passwd", false, true),
            ("**", "C:/Windows/a", false, true),
            ("**", "C:\\Windows\\a", false, true),
            ("**", "\\\\host\\share", false, true),
            ("*", ".", true, true),
            ("*", "a", true, true),
            ("*", "a/b", false, false),
            (".", "", true, true),
            ("../lib/**", "../lib/a", true, true),
            ("../lib/**", "../../lib/a", false, false),
            ("../**", "../../a", false, true),
            ("/tmp/**", "/tmp/a", true, true),
            ("/tmp/**", "/tmp/../etc/passwd", false, false),
            ("/tmp/**", "/../tmp/a", true, true),
            ("a\\*b", "a*b", true, true),
            ("a\\*b", "axb", false, false),
        ],
    );
}

#[test]
fn urls() {
    check(
        Url,
        &[
            ("https://docs.example/**", "https://docs.example/a/b", true, true),
            ("https://docs.example/**", "https://docs.example", true, true),
            ("https://docs.example/**", "HTTPS://Docs.Example/a", true, true),
            ("https://docs.example/**", "https://docs.example:443/a", true, true),
            ("https://docs.example:443/**", "https://docs.example/a", true, true),
            ("https://docs.example/**", "https://docs.example:8443/a", false, true),
            ("https://docs.example/**", "http://docs.example/a", false, true),
            ("https://docs.example/**", "https://docs.example.evil.example/a", false, false),
            ("https://docs.example/**", "https://docs.example@evil.example/a", false, false),
            ("https://docs.example/**", "https://docs.example:x@evil.example/", false, false),
            ("https://evil.example/**", "https://docs.example@evil.example/a", true, true),
            ("https://docs.example/**", "https://evil.example/https://docs.example/a", false, false),
            ("https://docs.example/**", "https://evil.example?https://docs.example/a", false, false),
            ("https://docs.example/**", "https://evil.example#https://docs.example/a", false, false),
            ("https://docs.example/**", "https:\\\\evil.example/docs.example/", false, true),
            ("https://docs.example/**", "https://evil.example\\@docs.example/a", false, true),
            ("https://docs.example/**", "https://docs.example\\@evil.example/a", false, true),
            ("https://evil.example/**", "https://docs.example\\@evil.example/a", false, true),
            ("https://docs.example/**", "https://docs.example\\.evil.example/a", false, true),
            ("https://docs.example/**", "https://docs.exam\tple/a", false, true),
            ("https://docs.example/**", "https:docs.example/a", false, true),
            ("https://docs.example/**", "HTTPS:/docs.example/a", false, true),
            ("https://docs.example/**", "https:///docs.example/a", false, true),
            ("https://docs.example/**", "https://a@evil.example@docs.example/a", false, true),
            ("https://docs.example/**", "https://a@docs.example/a@b", true, true),
            ("https://docs.example/**", "https://docs.example/a?x=\\d", true, true),
            ("https://docs.example/**", "docs.example/a", false, true),
            ("https://docs.example/**", "//docs.example/a", false, true),
            ("https://docs.example/**", "https://docs.example./a", false, true),
            ("https://docs.example/**", "file:///etc/passwd", false, true),
            ("https://docs.example/**", "data:text/plain,a", false, true),
            ("https://docs.example/**", "", false, true),
            ("https://docs.example/public/**", "https://docs.example/public/../admin", false, false),
            ("https://docs.example/public/**", "https://docs.example/public/%2e%2e/admin", false, false),
            ("https://docs.example/public/**", "https://docs.example/public/..%2fadmin", false, true),
            ("https://docs.example/admin/**", "https://docs.example/public/..%2fadmin/a", false, true),
            ("https://docs.example/admin/**", "https://docs.example/%61dmin/a", true, true),
            ("https://docs.example/admin/**", "https://docs.example/admin?x=1", false, true),
            ("https://docs.example/*", "https://docs.example/a", true, true),
            ("https://docs.example/*", "https://docs.example/a/b", false, false),
            ("https://docs.example/a", "https://docs.example/a", true, true),
            ("https://docs.example/a", "https://docs.example/a#top", true, true),
            ("https://docs.example/a", "https://docs.example/a?x=1", false, true),
            ("https://docs.example", "https://docs.example/", true, true),
            ("https://docs.example", "https://docs.example/a", false, true),
            ("evil.example", "http://EVIL.example:8080/a", false, true),
            ("evil.example/**", "https://evil.example/a", true, true),
            ("https://*.example/**", "https://docs.example/a", true, true),
            ("https://*.example/**", "https://docs.evil/a.example/", false, false),
            ("http://127.0.0.1/**", "http://0x7f.1/a", true, true),
            ("http://xn--bcher-kva.example/**", "http://b\u{fc}cher.example/a", true, true),
            ("https://b\u{fc}cher.example/**", "https://xn--bcher-kva.example/a", true, true),
            ("b\u{fc}cher.example", "http://B\u{dc}CHER.example:8080/a", false, true),
            ("https://*.b\u{fc}cher.example:8443/**", "https://a.xn--bcher-kva.example:8443/", true, true),
            ("https://b\u{fc}cher.example/**", "https://bucher.example/a", false, false),
            ("https://evil.example/**", "https://\u{ff45}vil.example/a", true, true),
            ("*", "https://docs.example/a", true, true),
            ("**", "https://docs.example/a?b=c/d", true, true),
        ],
    );
}

#[test]
fn texts() {
    check(
        Text,
        &[
            ("com*", "commit", true, true),
            ("com*", "Commit", false, false),
            ("*it", "commit it", true, true),
            ("a*c", "a/b\nc", true, true),
            ("a**c", "abc", true, true),
            ("", "", true, true),
            ("", "a", false, false),
            ("a(b)", "a(b)", true, true),
            ("\\\\*", "\\a", true, true),
            ("\\d", "\\d", true, true),
        ],
    );
}

#[test]
fn a_subject_that_is_not_what_its_kind_says_is_not_granted() {
    let of = |subject, arguments: Value| Compared::of(subject, arguments.as_object().unwrap());
    let path = Subject::new("path", Path);
    for (arguments, pattern) in [(json!({ "path": ["a", ".env"] }), "**"), (json!({ "path": 5 }), "*")] {
        let compared = of(Some(&path), arguments);
        assert!(!compared.is_matched(pattern, Effect::Grant) && compared.is_matched("other", Effect::Restrict));
        assert!(compared.is_matched(&compared.exact(), Effect::Grant));
    }
    assert!(of(Some(&path), json!({})).is_matched(".", Effect::Grant));
    let number = Subject::new("n", Text);
    assert!(of(Some(&number), json!({ "n": 5 })).is_matched("5", Effect::Grant));
    // Without a subject: the arguments, with the keys as they were given.
    let all = of(None, json!({ "to": "ann", "n": [1, 2.5] }));
    assert_eq!(all.exact(), r#"{"to":"ann","n":[1,2.5]}"#);
    assert!(all.is_matched("{\"to\":\"ann\",*}", Effect::Grant));
}

#[test]
fn an_exact_rule_is_about_its_own_call_alone() {
    let subjects = [
        (Path, vec!["", ".", "a", "a*", "a\\*", "a/b", "../a", "../../a", "/", "/a", "/*", "C:/a", "a\\b", "**", "src/**", "a)"]),
        (Command, vec!["ls", "ls *", "ls -l", "ls; rm a", "ls \\*", "echo 'a;b'", "git push (x)", "a # b", "rm"]),
        (
            Url,
            vec![
                "https://a.example",
                "https://a.example/**",
                "https://a.example/a?b=*",
                "https://a.example/..%2fb",
                "a.example/x",
                "http://a.example:8080/",
                "no url",
                "https://a.example/a",
            ],
        ),
        (Text, vec!["", "a", "*", "\\*", "a\nb", "(", ")"]),
    ];
    for (kind, values) in subjects {
        for value in &values {
            let subject = Subject::new("x", kind);
            let compared = |value: &str| Compared::of(Some(&subject), json!({ "x": value }).as_object().unwrap());
            let rule = Rule::exact("t", Some(&subject), json!({ "x": value }).as_object().unwrap()).unwrap();
            assert_eq!(Rule::new(rule.as_str()).unwrap(), rule);
            assert!(rule.matches(&compared(value), Effect::Grant), "{rule} of {value:?}");
            assert!(rule.matches(&compared(value), Effect::Restrict), "{rule} of {value:?}");
            for other in values.iter().filter(|other| compared(other).exact() != compared(value).exact()) {
                assert!(!rule.matches(&compared(other), Effect::Grant), "{rule} of {other:?}");
            }
        }
    }
}

#[test]
fn the_first_list_that_has_a_rule_decides() {
    let gate = Gate::new()
        .allow(["run(git *)", "pay", "mcp_*"])
        .unwrap()
        .ask(["run(git push *)", "mcp_mail_*"])
        .unwrap()
        .deny(["run(git push --force*)"])
        .unwrap();
    let mut remembered = Remembered::default();
    let subject = Subject::new("command", Command);
    let judge = |remembered: &Remembered, tool: &str, command: &str| {
        let arguments = json!({ "command": command });
        match gate.judge(remembered, tool, Some(&subject), arguments.as_object().unwrap()) {
            Verdict::Denied(rule) => format!("denied by {rule}"),
            Verdict::Asked(rule) => format!("asked by {rule}"),
            Verdict::Allowed(_) => "allowed".to_owned(),
            Verdict::Unsaid => "unsaid".to_owned(),
        }
    };
    for (tool, command, verdict) in [
        ("run", "git log", "allowed"),
        ("run", "git push", "asked by run(git push *)"),
        ("run", "git push --force", "denied by run(git push --force*)"),
        ("run", "ls", "unsaid"),
        ("runs", "git log", "unsaid"),
        ("pay", "", "allowed"),
        ("mcp_files_read", "", "allowed"),
        ("mcp_mail_send", "", "asked by mcp_mail_*"),
    ] {
        assert_eq!(judge(&remembered, tool, command), verdict, "{tool} {command}");
    }
    // Whoever was asked has answered; the agent's own denials stay.
    remembered.allow(Rule::new("run(git push)").unwrap());
    remembered.allow(Rule::new("run(git push --force)").unwrap());
    remembered.deny(Rule::new("run(git log)").unwrap());
    assert_eq!(judge(&remembered, "run", "git push"), "allowed");
    assert_eq!(judge(&remembered, "run", "git push origin"), "asked by run(git push *)");
    assert_eq!(judge(&remembered, "run", "git push --force"), "denied by run(git push --force*)");
    assert_eq!(judge(&remembered, "run", "git log"), "denied by run(git log)");
}

#[test]
fn the_last_decision_about_a_rule_is_remembered() {
    let rule = Rule::new("pay({})").unwrap();
    let mut remembered = Remembered::default();
    assert!(!remembered.decide(rule.clone(), &crate::suspension::Decision::Approve) && remembered.is_empty());
    assert!(remembered.decide(rule.clone(), &crate::suspension::Decision::ApproveAlways));
    remembered.allow(rule.clone());
    assert_eq!(to_value(&remembered).unwrap(), json!({ "allow": ["pay({})"], "deny": [] }));
    assert!(remembered.decide(rule.clone(), &crate::suspension::Decision::deny_always("no")));
    assert_eq!(to_value(&remembered).unwrap(), json!({ "allow": [], "deny": ["pay({})"] }));
    remembered.forget(&rule);
    assert!(remembered.is_empty());
}

#[test]
fn a_gate_is_read_and_what_is_wrong_is_named() {
    let gate: Gate = from_value(json!({ "allow": ["read_file(src/**)"], "ask": null })).unwrap();
    assert_eq!(to_value(&gate).unwrap(), json!({ "allow": ["read_file(src/**)"], "ask": [], "deny": [] }));
    for (given, wrong) in [
        (json!(true), "expected an object with lists of rules, allow, ask, deny, got true"),
        (json!({ "alow": [] }), "unknown field \"alow\"; did you mean \"allow\"?"),
        (json!({ "deny": "run" }), "deny: expected a list of rules, got \"run\""),
        (json!({ "deny": [5] }), "deny: expected a rule such as \"run_command(git status)\", got 5"),
        (
            json!({ "ask": ["run_command(git"] }),
            "ask: the rule \"run_command(git\" does not end with its parenthesis; write \"run_command(git)\"",
        ),
        (
            json!({ "allow": ["(git)"] }),
            "allow: the rule \"(git)\" names no tool; a rule is \"tool\" or \"tool(pattern)\", and \"*\" is any tool",
        ),
        (
            json!({ "allow": ["run command"] }),
            "allow: the rule \"run command\" has a name that no tool has; before the parenthesis stand letters, digits, '_' and \
             '-', and '*' for anything",
        ),
    ] {
        assert_eq!(Gate::try_from(given).unwrap_err(), wrong);
    }
    assert!(Gate::new().deny([""]).is_err());
    assert!(Gate::new().deny(["run(a) "]).is_err());
}

#[test]
fn a_long_pattern_and_a_long_text_take_no_time_to_compare() {
    let (pattern, text) = ("a*".repeat(200), "a".repeat(20_000) + "b");
    assert_eq!(matches(Text, &(pattern.clone() + "c"), &text), (false, false));
    assert_eq!(matches(Command, &(pattern + "c"), &format!("sudo {}", "a ".repeat(5_000))), (false, false));
}
