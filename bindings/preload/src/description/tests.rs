use super::*;

const LEN: usize = 1 << 20;

const WHOLE: &str = r#"
[region]
versions = 4
history = 2
memory = 1073741824
attributes = { code = "heat", seed = 7, gravity = [0.0, 0.0, -9.81] }

[step]
offset = 8
dtype = "int32"

[time]
offset = 16
dtype = "float64"

[[field]]
name = "velocity"
dtype = "float32"
shape = [10, 20]
components = 3
offset = 65536
order = "Fortran"
centering = "cell"

[[field]]
name = "t"
dtype = "float64"
shape = [64, 64]
offset = 4096
unit = "K"
ghosts = [[1, 1], [1, 1]]
origin = [0.0, 0.5, 0.0]
spacing = [0.1, 0.1, 1.0]
attributes = { long_name = "temperature" }
"#;

fn read(text: &str) -> Result<Description, Error> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("heat.toml"), text).unwrap();
    Description::find("heat", folder.path(), LEN)
}

/// Returns the message for a description with an error.
fn refused(text: &str) -> String {
    let message = read(text).unwrap_err().to_string();
    assert!(!message.contains('\n'), "{message:?}");
    message
}

fn field(rest: &str) -> String {
    format!("[[field]]\nname = \"u\"\ndtype = \"float64\"\n{rest}\n")
}

#[test]
fn everything_that_can_be_described_is_read() {
    let described = read(WHOLE).unwrap();
    let bounds = (described.versions, described.history, described.memory);
    assert_eq!(bounds, (Some(4), Some(2), Some(1 << 30)));
    assert_eq!(described.attributes["code"], Attr::from("heat"));
    assert_eq!(described.attributes["seed"], Attr::from(7));
    let place = |offset, dtype| Some(Place { offset, dtype });
    let clock = Clock {
        step: place(8, DType::I32),
        time: place(16, DType::F64),
    };
    assert_eq!(described.clock, clock);
    let [t, velocity] = &described.fields[..] else {
        panic!("two fields, in the order of their offsets")
    };
    assert_eq!((t.offset, t.ghosts.as_slice()), (4096, &[[1, 1]; 2][..]));
    assert_eq!((t.unit.as_str(), t.order), ("K", Order::C));
    assert_eq!(t.mesh.unwrap().origin, [0.0, 0.5, 0.0]);
    assert_eq!((velocity.components, velocity.order), (3, Order::F));
    assert_eq!(velocity.centering, Centering::Cell);
    assert_eq!(velocity.mesh, None);
}

#[test]
fn mapping_without_a_description_is_a_field_of_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let described = Description::find("heat", folder.path(), 10_000).unwrap();
    let [bytes] = &described.fields[..] else {
        panic!("one field")
    };
    assert_eq!((bytes.name.as_str(), bytes.dtype), ("bytes", DType::U8));
    assert_eq!(bytes.shape, [10_000]);
}

#[test]
fn field_outside_of_the_mapping_is_refused() {
    let message = refused(&field("shape = [131073]"));
    assert!(message.contains("1048584 bytes at offset 0") && message.contains("1048576 bytes"));
    assert!(read(&field("shape = [131072]")).is_ok(), "it just fits");
    let message = refused(&field("shape = [1]\noffset = 1048576"));
    assert!(message.contains("offset 1048576"), "{message}");
    let message = refused(&field("shape = [1]\noffset = 9223372036854775807"));
    assert!(message.contains("page size"), "{message}");
}

#[test]
fn fields_that_share_a_page_are_refused() {
    let two = |second: u64| {
        let first = field("shape = [513]");
        let other = field(&format!("shape = [1]\noffset = {second}"));
        first + &other.replace("\"u\"", "\"v\"")
    };
    assert!(refused(&two(4096)).contains("\"u\" and \"v\" overlap, or share a page"));
    assert!(read(&two(8192)).is_ok());
    assert!(refused(&two(12)).contains("no multiple of the page size"));
}

#[test]
fn mistakes_are_named_with_their_line() {
    for (text, part) in [
        ("[[field]\n", "line 1"),
        (
            "\n\n[[field]]\nname = \"u\"\nshpe = [1]\n",
            "line 5: unknown field `shpe`",
        ),
        (
            "[[field]]\nname = \"u\"\ndtype = \"double\"\nshape = [1]\n",
            "unknown dtype \"double\"",
        ),
        (
            "[[field]]\nname = \"u\"\nshape = [1]\n",
            "missing field `dtype`",
        ),
        (
            "[step]\noffset = 0\ndtype = \"complex64\"\n",
            "step cannot be complex",
        ),
        (
            "[time]\noffset = 1048573\ndtype = \"float32\"\n",
            "time has 4 bytes at offset 1048573",
        ),
        ("", "describes no field"),
        (&field("shape = [0]"), "zero size"),
        (&field("shape = [4]\nghosts = [[2, 2]]"), "leave nothing"),
        (
            &field("shape = [4]\nspacing = [0.0, 1.0, 1.0]"),
            "field \"u\"",
        ),
        (
            &field("shape = [4294967296, 4294967296]"),
            "larger than the address space",
        ),
        (
            &(field("shape = [1]") + &field("shape = [1]\noffset = 4096")),
            "two fields are called",
        ),
        (
            &field("shape = [1]").replace("\"u\"", "\"../u\""),
            "not usable",
        ),
    ] {
        let message = refused(text);
        assert!(
            message.contains(part) && message.contains("heat.toml"),
            "{message}"
        );
    }
}
