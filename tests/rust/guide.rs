//! The crate's guide.

/// axum is not a dependency of the workspace, so that the guide's endpoint is not compiled there: it has to be the example's.
#[test]
fn the_endpoint_of_the_guide_is_the_example() {
    let program = include_str!("../../examples/axum/src/main.rs");
    let program = program.split("#[cfg(test)]").next().unwrap();
    let program = &program[program.find("use ").unwrap()..];
    let lines = include_str!("../../core/src/guide.rs").lines().filter_map(|line| line.strip_prefix("//!"));
    let guide: String = lines.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect();
    assert!(program.contains("async fn ask") && guide.contains(program.trim_end()), "core/src/guide.rs differs from the example");
}
