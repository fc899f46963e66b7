//! Tests of files of parameters, and of the messages about wrong ones.

use tcasm_examples::Params;

#[track_caller]
fn refusal(text: &str) -> String {
    Params::parse(text).expect_err("accepted").to_string()
}

#[test]
fn empty_file_gives_the_defaults() {
    assert_eq!(Params::parse("").unwrap(), Params::default());
}

#[test]
fn every_parameter_is_read_under_its_usual_name() {
    let text = "F = 0.03\nk = 0.06\nDu = 0.3\nDv = 0.15\ndt = 2\nnoise = 0.0\nseed = 42\n";
    let expected = Params {
        feed: 0.03,
        kill: 0.06,
        diffusion_u: 0.3,
        diffusion_v: 0.15,
        dt: 2.0,
        noise: 0.0,
        seed: 42,
    };
    assert_eq!(Params::parse(text).unwrap(), expected);
}

#[test]
fn unknown_name_is_refused_with_a_list_of_all_names() {
    let message = refusal("F = 0.03\nkk = 0.06\n");
    for part in [
        "line 2",
        "`kk`",
        "`F`, `k`, `Du`, `Dv`, `dt`, `noise`, `seed`",
    ] {
        assert!(message.contains(part), "{part} is missing in: {message}");
    }
}

#[test]
fn invalid_values_are_refused_with_their_names() {
    assert!(refusal("k = -0.1").contains("k = -0.1"));
    assert!(refusal("noise = inf").contains("noise = inf"));
    assert!(refusal("Dv = nan").contains("Dv = NaN"));
    assert!(refusal("dt = 0").contains("dt = 0"));
    assert!(refusal("seed = -1").contains("seed"));
}

#[test]
fn unstable_step_is_refused_with_the_longest_stable_one() {
    let message = refusal("Du = 0.25\ndt = 4.5");
    assert!(message.contains("at most 4"), "{message}");
    assert!(Params::parse("Du = 0.25\ndt = 4").is_ok());
}

#[test]
fn missing_file_is_named() {
    let path = std::path::Path::new("/nowhere/params.toml");
    let message = Params::read(path).expect_err("read").to_string();
    assert!(message.contains("/nowhere/params.toml"), "{message}");
}

#[test]
fn params_file_of_the_example_holds_the_defaults() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/gray_scott/params.toml");
    let params = Params::read(std::path::Path::new(path)).unwrap();
    assert_eq!(params, Params::default());
}
