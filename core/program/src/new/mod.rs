//! `new`: a project that runs, with an agent in it.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, ValueHint, value_parser};

use crate::exit;
use crate::failure::Failure;

/// A kind of project.
struct Kind {
    /// Its flag.
    flag: &'static str,
    about: &'static str,
    /// The files: path, and what is in them.
    files: &'static [(&'static str, &'static str)],
    /// How it is tried, in its folder.
    run: &'static str,
}

/// In the files, the name of the agent is this, and the version of this library is `VERSION`.
const NAME: &str = "my-agent";
const VERSION: &str = "VERSION";

macro_rules! template {
    ($path:literal) => {
        include_str!(concat!("templates/", $path))
    };
}

/// The first one is made unless a flag says otherwise.
const KINDS: &[Kind] = &[
    Kind {
        flag: "toml",
        about: "Without code: an agent.toml (the default)",
        files: &[("agent.toml", template!("toml/agent.toml")), ("README.md", template!("toml/README.md"))],
        run: "agent agent.toml \"What is in this folder?\"",
    },
    Kind {
        flag: "rust",
        about: "With a tool in Rust",
        files: &[
            ("Cargo.toml", template!("rust/Cargo.toml.template")),
            ("src/main.rs", template!("rust/main.rs")),
            ("README.md", template!("rust/README.md")),
            (".gitignore", template!("rust/gitignore")),
        ],
        run: "cargo run -- --help",
    },
    Kind {
        flag: "python",
        about: "With a tool in Python",
        files: &[
            ("agent.py", template!("python/agent.py")),
            ("requirements.txt", template!("python/requirements.txt")),
            ("README.md", template!("python/README.md")),
            (".gitignore", template!("python/gitignore")),
        ],
        run: "pip install -r requirements.txt && python3 agent.py --help",
    },
    Kind {
        flag: "node",
        about: "With a tool in Node",
        files: &[
            ("agent.mjs", template!("node/agent.mjs")),
            ("package.json", template!("node/package.json.template")),
            ("README.md", template!("node/README.md")),
            (".gitignore", template!("node/gitignore")),
        ],
        run: "npm install && node agent.mjs --help",
    },
];

/// Its command line.
pub(crate) fn arguments() -> Command {
    let flag = |kind: &Kind| Arg::new(kind.flag).long(kind.flag).help(kind.about).action(ArgAction::SetTrue);
    Command::new("new")
        .about("Writes a project with an agent that runs")
        .arg(
            Arg::new("folder")
                .value_name("NAME")
                .required(true)
                .value_hint(ValueHint::DirPath)
                .value_parser(value_parser!(PathBuf))
                .help("The agent's name: that of the folder, which is made"),
        )
        .args(KINDS.iter().map(flag))
        .group(ArgGroup::new("kind").args(KINDS.iter().map(|kind| kind.flag)))
}

/// The command.
///
/// # Errors
/// The name is none, there is something of that name, or it cannot be written.
pub(crate) fn write(matches: &ArgMatches, out: &mut dyn Write) -> Result<u8, Failure> {
    let folder = matches.get_one::<PathBuf>("folder").cloned().unwrap_or_default();
    let name = name_of(&folder)?;
    let chosen = KINDS.iter().find(|kind| matches.get_flag(kind.flag)).or(KINDS.first());
    let Some(kind) = chosen else { return Ok(exit::ERROR) };
    let failed = |path: &Path, why: std::io::Error| Failure::error(format!("{} cannot be made: {why}", path.display()));
    if let Some(around) = folder.parent() {
        fs::create_dir_all(around).map_err(|why| failed(around, why))?;
    }
    // Nothing that is there is touched, not even an empty folder that another program has just made.
    fs::create_dir(&folder).map_err(|why| match why.kind() {
        ErrorKind::AlreadyExists => Failure::usage(format!("{} is there already; choose another name", folder.display())),
        _ => failed(&folder, why),
    })?;
    for (file, content) in kind.files {
        let path = folder.join(file);
        if let Some(around) = path.parent() {
            fs::create_dir_all(around).map_err(|why| failed(around, why))?;
        }
        let content = content.replace(NAME, &name).replace(VERSION, agent_loop::VERSION);
        fs::write(&path, &content).map_err(|why| failed(&path, why))?;
        #[cfg(unix)]
        if content.starts_with("#!") {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(&path, mode).map_err(|why| failed(&path, why))?;
        }
    }
    let files: Vec<&str> = kind.files.iter().map(|(file, _)| *file).collect();
    writeln!(out, "{}: {}", folder.display(), files.join(", "))?;
    writeln!(out, "try it: cd {} && {}", shlex::try_quote(&folder.to_string_lossy()).unwrap_or_default(), kind.run)?;
    Ok(exit::COMPLETED)
}

/// The agent's name: one that a crate, a package and a folder may have, too.
fn name_of(folder: &Path) -> Result<String, Failure> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(fits) {
        return Ok(name.to_owned());
    }
    let text = format!("{name:?} is no name for an agent: use small letters, digits, '_' and '-', and begin with a letter");
    Err(Failure::usage(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_all_languages() {
        let name = |path: &str| name_of(Path::new(path)).ok();
        assert_eq!(name("work/word-counter_2").as_deref(), Some("word-counter_2"));
        assert_eq!([name(""), name("2nd"), name("Weather"), name("a b"), name(".."), name("wörter")], [const { None }; 6]);
    }

    #[test]
    fn templates_name_the_agent_and_the_version() {
        for kind in KINDS {
            let has = |text: &str| kind.files.iter().filter(|(_, content)| content.contains(text)).count();
            assert!(has(NAME) >= 2, "{}", kind.flag);
            assert_eq!(has(VERSION), usize::from(kind.flag != "toml"), "{}", kind.flag);
        }
    }
}
