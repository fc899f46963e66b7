//! Descriptions give the mapping fields, a step and a time.

use crate::common::*;
use tcasm_observer::Version;
use tcasm_tests::name;
use tempfile::TempDir;

const LEN: u64 = 16 * 4096;

const TEXT: &str = r#"
[region]
attributes = { code = "puppet" }
[step]
offset = 8
dtype = "int64"
[time]
offset = 8192
dtype = "float64"
[[field]]
name = "t"
dtype = "float64"
shape = [4, 8]
offset = 8192
unit = "K"
spacing = [0.5, 0.5, 1.0]
[[field]]
name = "flags"
dtype = "uint8"
shape = [10]
offset = 20480
"#;

/// Makes a folder with the description of a region.
fn described(name: &str, text: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
    folder
}

fn first(puppet: &mut Puppet, name: &str) -> Version {
    let at = puppet.region(name, LEN);
    puppet.ask(&format!("number {} 41", at + 8));
    puppet.ask(&format!("number {} {}", at + 8192, 2.5f64.to_bits()));
    puppet.fill(at + 20480, 10, 3);
    puppet.fill(at + LEN as i64 - 4096, 4096, 9); // in no field
    puppet.publish(at, LEN);
    version(&mut observe(name), 1)
}

#[test]
fn fields_step_and_time_are_those_of_the_description() {
    let name = name("described");
    let folder = described(&name, TEXT);
    let folder_text = folder.path().to_str().unwrap().to_owned();
    let file = folder.path().join(format!("{name}.toml"));
    for chosen in [folder_text.as_str(), file.to_str().unwrap()] {
        let mut puppet = Puppet::with(&[("TCASM_DESCRIPTION", chosen)]);
        let seen = first(&mut puppet, &name);
        assert_eq!((seen.step(), seen.time()), (41, 2.5));
        let names: Vec<_> = seen
            .table()
            .fields
            .iter()
            .map(|f| f.name.as_str())
            .collect();
        assert_eq!(names, ["t", "flags"]);
        let view = seen.view().unwrap();
        let t = view.array::<f64>("t").unwrap();
        assert_eq!((t.shape(), t[[0, 0]], t[[3, 7]]), (&[4, 8][..], 2.5, 0.0));
        assert_eq!(view.bytes("flags").unwrap(), [3; 10]);
        assert_eq!(seen.field("t").unwrap().unit, "K");
        assert_eq!(
            seen.field("t").unwrap().mesh.unwrap().spacing,
            [0.5, 0.5, 1.0]
        );
        assert_eq!(seen.table().attrs["code"], "puppet".into());
        assert_eq!(puppet.errors(), "");
    }
}

#[test]
fn wrong_description_is_reported_and_the_program_works_without_it() {
    for (text, reason) in [
        ("[[field]]\nname = 7\n", "line 2: "),
        (
            "[[field]]\nname = \"u\"\ndtype = \"int8\"\nshape = [70000]\n",
            "the mapping of 65536",
        ),
        (
            "[region]\nversions = 1\n[[field]]\nname = \"u\"\ndtype = \"int8\"\nshape = [1]\n",
            "",
        ),
    ] {
        let name = name("wrong");
        let folder = described(&name, text);
        let mut puppet = Puppet::with(&[("TCASM_DESCRIPTION", folder.path().to_str().unwrap())]);
        let at = puppet.region(&name, LEN);
        let errors = puppet.errors();
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(
            errors.contains(reason) && errors.contains("is not published"),
            "{errors}"
        );
        puppet.fill(at, LEN, 1);
        puppet.publish(at, LEN);
        assert_eq!(puppet.get(at + LEN as i64 - 1), 1);
        assert!(is_gone(&name));
        assert_eq!(puppet.finish().code(), Some(0));
    }
}

#[test]
fn missing_description_that_was_named_is_an_error() {
    let name = name("missing");
    let mut puppet = Puppet::with(&[("TCASM_DESCRIPTION", "/no/such/file.toml")]);
    puppet.region(&name, LEN);
    assert!(
        puppet.errors().contains("/no/such/file.toml"),
        "{}",
        puppet.errors()
    );
    assert!(is_gone(&name));
}
