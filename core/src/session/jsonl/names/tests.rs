use std::collections::HashSet;

use super::*;

/// A name that every file system takes.
fn check(name: &str) {
    assert!(!name.starts_with('.') && name.len() + ".info-new".len() <= 143, "{name}");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.%~".contains(&byte);
    assert!(name.bytes().all(is_plain), "{name}");
}

#[test]
fn a_file_name_gives_its_id_back() {
    for id in ["a", "user-7", ".", "..", "a/b", "ä€", "a%b", "A.b_c", " ", "\\", "con:1", "a~b", "con", "Nul.x", "User/7"] {
        check(&file_name(id));
        assert_eq!(id_of_file(&file_name(id)).as_deref(), Some(id));
        // As an earlier version has named it.
        assert_eq!(id_of_file(&earlier_name(id).unwrap_or_else(|| file_name(id))).as_deref(), Some(id));
    }
    for wrong in ["%zz", "a%2Fb", "a~0123456789abcdef", "a~", "A~0123456789abcdef"] {
        assert_eq!(id_of_file(wrong), None, "{wrong}");
    }
}

#[test]
fn simple_ids_keep_the_names_that_earlier_versions_gave_them() {
    for (id, name) in [("user-7", "user-7"), ("a b", "a%20b"), ("日本", "%e6%97%a5%e6%9c%ac"), ("x.jsonl", "x.jsonl")] {
        assert_eq!((file_name(id).as_str(), earlier_name(id)), (name, None));
    }
    assert_eq!((file_name("User-7").as_str(), earlier_name("User-7").as_deref()), ("User-7~91b45d05b91f0098", Some("User-7")));
}

#[test]
fn the_longest_ids_have_names_of_their_own() {
    let mut names = HashSet::new();
    for first in ["x", "日", "%", "X", "é"] {
        for length in 1..=200 / first.len() {
            for last in ["", "a", "b"] {
                let id = format!("{}{last}", first.repeat(length));
                let name = file_name(&id);
                check(&name);
                assert!(name.len() <= LONGEST_NAME && names.insert(name.clone()), "{name}");
                // No half of an escape.
                let prefix = name.split('~').next().unwrap();
                assert!(prefix.rsplit_once('%').is_none_or(|(_, digits)| digits.len() >= 2), "{name}");
            }
        }
    }
}

#[test]
fn names_differ_where_upper_and_lower_case_are_the_same() {
    let ids = ["user", "User", "USER", "uSER", "a/b", "A/b", "a/B", "é", "É", "%c3%a9", "%C3%A9", "con", "CON"];
    let names: HashSet<String> = ids.iter().map(|id| file_name(id).to_lowercase()).collect();
    assert_eq!(names.len(), ids.len(), "{names:?}");
}

#[test]
fn no_name_is_that_of_a_device() {
    for id in ["con", "CON", "nul.txt", "com1", "Lpt9.x.y", "aux"] {
        let name = file_name(id);
        assert!(!is_device(&name) && name.starts_with('%'), "{name}");
    }
    for id in ["console", "com", "com12", "lpt", "x.con"] {
        assert_eq!(file_name(id), id);
    }
}
