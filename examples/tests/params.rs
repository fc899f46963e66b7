//! What a file of parameters may say, and what is said about one that makes no sense.

use tcasm_examples::Params;

#[track_caller]
fn refusal(text: &str) -> String {
    Params::parse(text).expect_err("accepted").to_string()
}

#[test]
fn an_empty_file_gives_the_defaults() {
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
fn an_unknown_name_is_refused_with_the_names_there_are() {
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
fn amounts_that_make_no_sense_are_refused_by_name() {
    assert!(refusal("k = -0.1").contains("k = -0.1"));
    assert!(refusal("noise = inf").contains("noise = inf"));
    assert!(refusal("Dv = nan").contains("Dv = NaN"));
    assert!(refusal("dt = 0").contains("dt = 0"));
    assert!(refusal("seed = -1").contains("seed"));
}

#[test]
fn a_step_too_long_for_the_diffusion_is_refused_with_the_longest_possible() {
    let message = refusal("Du = 0.25\ndt = 4.5");
    assert!(message.contains("at most 4"), "{message}");
    assert!(Params::parse("Du = 0.25\ndt = 4").is_ok());
}

#[test]
fn a_missing_file_is_named() {
    let path = std::path::Path::new("/nowhere/params.toml");
    let message = Params::read(path).expect_err("read").to_string();
    assert!(message.contains("/nowhere/params.toml"), "{message}");
}

#[test]
fn the_file_in_the_folder_of_the_example_holds_the_defaults() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/gray_scott/params.toml");
    let params = Params::read(std::path::Path::new(path)).unwrap();
    assert_eq!(params, Params::default());
}
