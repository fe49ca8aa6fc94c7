use super::*;

#[test]
fn a_file_name_gives_its_id_back() {
    for id in ["a", "user-7", ".", "..", "a/b", "ä€", "a%b", "A.b_c", " ", "\\", "con:1"] {
        let name = file_name(id);
        assert!(!name.starts_with('.') && !name.contains(['/', '\\', ':', ' ']), "{name}");
        assert_eq!(id_of_file(&name).as_deref(), Some(id));
    }
    assert_eq!(id_of_file("%zz"), None);
}
