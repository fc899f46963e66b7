use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Env = BTreeMap<&'static str, String>;

fn env(pairs: &[(&'static str, &str)]) -> Env {
    let own = |(name, value): &(&'static str, &str)| (*name, (*value).to_owned());
    pairs.iter().map(own).collect()
}

fn read(env: &Env) -> Result<Told, EnvError> {
    told(&|name| env.get(name).cloned())
}

fn place(rank: u32, ranks: u32, local_ranks: u32, run: &str) -> Told {
    Told {
        rank,
        ranks,
        local_ranks,
        run: run.to_owned(),
    }
}

/// The variables as Open MPI 4.1.4 sets them.
const BY_OPEN_MPI: [(&str, &str); 6] = [
    ("OMPI_COMM_WORLD_RANK", "3"),
    ("OMPI_COMM_WORLD_SIZE", "8"),
    ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
    ("OMPI_MCA_ess_base_jobid", "1200619521"),
    ("PMIX_NAMESPACE", "1200619521"),
    ("PMIX_RANK", "3"),
];

/// The variables as Hydra of MPICH 4.0.2 sets them.
const BY_HYDRA: [(&str, &str); 4] = [
    ("PMI_RANK", "1"),
    ("PMI_SIZE", "4"),
    ("MPI_LOCALNRANKS", "2"),
    ("MPI_LOCALRANKID", "1"),
];

const BY_SLURM: [(&str, &str); 8] = [
    ("SLURM_PROCID", "9"),
    ("SLURM_STEP_NUM_TASKS", "11"),
    ("SLURM_NTASKS", "64"),
    ("SLURM_STEP_TASKS_PER_NODE", "4(x2),3"),
    ("SLURM_TASKS_PER_NODE", "16(x4)"),
    ("SLURM_NODEID", "2"),
    ("SLURM_JOB_ID", "4711"),
    ("SLURM_STEP_ID", "0"),
];

#[test]
fn each_launcher_tells_the_place_and_the_run() {
    assert_eq!(
        read(&env(&BY_OPEN_MPI)).unwrap(),
        place(3, 8, 4, "1200619521")
    );
    assert_eq!(read(&env(&BY_SLURM)).unwrap(), place(9, 11, 3, "4711.0"));
    let mut hydra = env(&BY_HYDRA);
    hydra.insert("TCASM_RUN", "monday".into());
    assert_eq!(read(&hydra).unwrap(), place(1, 4, 2, "monday"));
    // Slurm with PMI-2 has no number of ranks of this host there, and with PMIx none at all.
    let mut pmi2 = env(&BY_SLURM);
    pmi2.extend(env(&[
        ("PMI_RANK", "9"),
        ("PMI_SIZE", "11"),
        ("PMI_JOBID", "4711.0"),
    ]));
    assert_eq!(read(&pmi2).unwrap(), place(9, 11, 3, "4711.0"));
    let mut pmix = env(&BY_SLURM);
    pmix.extend(env(&[
        ("PMIX_RANK", "9"),
        ("PMIX_NAMESPACE", "slurm.pmix.4711.0"),
    ]));
    assert_eq!(read(&pmix).unwrap(), place(9, 11, 3, "4711.0"));
}

#[test]
fn job_that_slurm_has_queued_again_is_another_run() {
    let mut job = env(&BY_SLURM);
    let mut run_of = |count: &'static str| {
        job.insert("SLURM_RESTART_COUNT", count.into());
        read(&job).unwrap().run
    };
    assert_eq!(
        ["0", "1", "2"].map(&mut run_of),
        ["4711.0", "4711.0.1", "4711.0.2"]
    );
    job.insert("TCASM_RUN", "monday".into());
    assert_eq!(read(&job).unwrap().run, "monday");
}

#[test]
fn launcher_counts_that_was_started_in_a_job_of_slurm() {
    for (variables, run) in [(&BY_OPEN_MPI[..], "1200619521"), (&BY_HYDRA, "own")] {
        let mut job = env(&BY_SLURM);
        job.extend(env(variables));
        job.insert("TCASM_RUN", "own".into());
        let told = read(&job).unwrap();
        assert!(told.ranks < 11, "{told:?}");
        job.remove("TCASM_RUN");
        match read(&job) {
            Ok(told) => assert_eq!(told.run, run),
            // The job of Slurm may start several programs by Hydra, so its id is none of theirs.
            Err(error) => assert!(error.to_string().contains("PMI_JOBID unset"), "{error}"),
        }
    }
    // The sizes of Slurm's job are not those of another launcher with PMIx.
    let mut job = env(&BY_SLURM);
    job.extend(env(&[
        ("PMIX_RANK", "1"),
        ("PMIX_NAMESPACE", "prterun-host-17@1"),
    ]));
    let error = read(&job).unwrap_err().to_string();
    assert!(
        error.contains("number of ranks") && error.contains("TCASM_RANKS"),
        "{error}"
    );
    job.extend(env(&[("TCASM_RANKS", "2"), ("TCASM_LOCAL_RANKS", "1")]));
    assert_eq!(read(&job).unwrap(), place(1, 2, 1, "prterun-host-17@1"));
}

#[test]
fn program_without_a_launcher_is_the_only_rank() {
    assert_eq!(read(&env(&[])).unwrap(), place(0, 1, 1, ""));
    assert_eq!(
        read(&env(&[("TCASM_RUN", "x")])).unwrap(),
        place(0, 1, 1, "x")
    );
    // So it is in an allocation of Slurm, in which no step has been started.
    let allocation = env(&[("SLURM_JOB_ID", "1"), ("SLURM_NTASKS", "8")]);
    assert_eq!(read(&allocation).unwrap(), place(0, 1, 1, ""));
}

#[test]
fn half_of_a_place_is_an_error() {
    for (name, missing) in [
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE unset"),
        ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK unset"),
        ("PMI_RANK", "PMI_SIZE unset"),
        ("PMI_SIZE", "PMI_RANK unset"),
        ("PMIX_RANK", "TCASM_RANKS unset"),
        ("SLURM_PROCID", "SLURM_NTASKS unset"),
    ] {
        let error = read(&env(&[(name, "2")])).unwrap_err().to_string();
        assert!(error.contains(missing), "{name}: {error}");
        // An empty variable is as good as none.
        assert_eq!(read(&env(&[(name, "")])).unwrap(), place(0, 1, 1, ""));
    }
}

#[test]
fn batch_script_of_slurm_is_not_taken_for_the_first_rank() {
    let mut script = env(&BY_SLURM);
    script.remove("SLURM_STEP_ID");
    let error = read(&script).unwrap_err().to_string();
    for part in [
        "name of the run",
        "set TCASM_RUN",
        "SLURM_STEP_ID unset",
        "SLURM_PROCID=\"9\"",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn own_variables_come_first_and_are_enough() {
    let own = env(&[
        ("TCASM_RANK", "1"),
        ("TCASM_RANKS", "3"),
        ("TCASM_RUN", "own"),
    ]);
    assert_eq!(read(&own).unwrap(), place(1, 3, 3, "own"));
    let mut both = env(&BY_OPEN_MPI);
    both.extend(own);
    both.insert("TCASM_LOCAL_RANKS", "2".into());
    assert_eq!(read(&both).unwrap(), place(1, 3, 2, "own"));
    for alone in ["TCASM_RANK", "TCASM_RANKS"] {
        let error = read(&env(&[(alone, "1")])).unwrap_err();
        assert!(matches!(error, EnvError::Missing { .. }), "{error}");
    }
}

#[test]
fn wrong_values_are_named() {
    let with = |name, value: &str| {
        let mut env = env(&BY_OPEN_MPI);
        env.insert(name, value.to_owned());
        read(&env).unwrap_err().to_string()
    };
    for value in ["-1", "+1", "x", "4294967296", " 1", "1\x1b[2J"] {
        let error = with("OMPI_COMM_WORLD_RANK", value);
        assert!(
            error.contains(&format!("OMPI_COMM_WORLD_RANK={value:?}")),
            "{error}"
        );
        assert!(!error.contains('\x1b'));
    }
    let error = with("OMPI_COMM_WORLD_RANK", "8");
    assert!(
        error.contains("rank 8 is not one of 8") && error.contains("SIZE=\"8\""),
        "{error}"
    );
    assert!(with("OMPI_COMM_WORLD_LOCAL_SIZE", "9").contains("9 ranks on this host"));
}

#[test]
fn wrong_lists_of_slurm_are_named() {
    let mut slurm = env(&BY_SLURM);
    for list in [
        "4(x2)",
        "",
        "4(x",
        "4(x2),",
        "x(x9)",
        "4(x4294967295),1(x9)",
    ] {
        slurm.insert("SLURM_STEP_TASKS_PER_NODE", list.to_owned());
        if let Ok(told) = read(&slurm) {
            // Without the list of the step that of the job counts, and the first entry fits.
            assert!(
                list.is_empty() && told.local_ranks == 16 || told.local_ranks == 4,
                "{list}"
            );
        }
    }
    slurm.insert("SLURM_STEP_TASKS_PER_NODE", "4(x2)".to_owned());
    let error = read(&slurm).unwrap_err().to_string();
    assert!(
        error.contains("SLURM_STEP_TASKS_PER_NODE=\"4(x2)\""),
        "{error}"
    );
}

/// A job on several hosts, and a rank of it.
fn job() -> impl Strategy<Value = (Vec<u32>, u32)> {
    let hosts = proptest::collection::vec(1u32..5, 1..6);
    hosts.prop_flat_map(|hosts| {
        let ranks: u32 = hosts.iter().sum();
        (Just(hosts), 0..ranks)
    })
}

/// Returns the variables of one launcher for a rank of a job, and the run that they tell.
fn told_by(launcher: usize, hosts: &[u32], rank: u32) -> (Env, String) {
    let mut ends = hosts.iter().scan(0, |end, n| {
        *end += n;
        Some(*end)
    });
    let host = ends.position(|end| rank < end).unwrap();
    let all: u32 = hosts.iter().sum();
    let numbers = [rank, all, hosts[host]].map(|n| n.to_string());
    let named = |names: [&'static str; 3]| names.into_iter().zip(numbers.clone()).collect::<Env>();
    match launcher {
        0 => {
            let names = OPEN_MPI;
            let mut env = named([names.rank[0], names.ranks[0], names.local_ranks[0]]);
            env.insert("PMIX_NAMESPACE", "77".into());
            (env, "77".into())
        }
        1 => {
            let mut env = named([PMI.rank[0], PMI.ranks[0], PMI.local_ranks[0]]);
            env.insert("PMI_JOBID", "5".into());
            (env, "5".into())
        }
        _ => {
            let mut env = named(["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"]);
            let list: Vec<String> = hosts.iter().map(u32::to_string).collect();
            env.insert("SLURM_TASKS_PER_NODE", list.join(","));
            env.insert("SLURM_NODEID", host.to_string());
            env.insert("SLURM_JOB_ID", "4".into());
            env.insert("SLURM_STEP_ID", "2".into());
            (env, "4.2".into())
        }
    }
}

proptest! {
    /// A rank is never given a wrong place, whatever is missing of the environment: it gets its
    /// own, or an error, or that of the only rank if nothing names a rank.
    #[test]
    fn place_is_right_or_refused(
        (hosts, rank) in job(),
        launcher in 0usize..3,
        removed in proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let (all, run) = told_by(launcher, &hosts, rank);
        let expected = read(&all).unwrap();
        let ranks = hosts.iter().sum();
        prop_assert_eq!((expected.rank, expected.ranks, &expected.run), (rank, ranks, &run));
        prop_assert!(hosts.contains(&expected.local_ranks));
        let signs = [&OPEN_MPI, &PMI, &SLURM][launcher].signs;
        let mut some = all.clone();
        for at in removed {
            let name = *at.get(&Vec::from_iter(all.keys()));
            some.remove(name);
        }
        match read(&some) {
            Ok(told) if !signs.iter().any(|name| some.contains_key(name)) => {
                prop_assert_eq!(told, place(0, 1, 1, ""));
            }
            Ok(told) if ranks == 1 => prop_assert_eq!((told.rank, told.ranks), (0, 1)),
            Ok(told) => prop_assert_eq!(told, expected),
            Err(error) => {
                let text = error.to_string();
                let gone = all.keys().filter(|name| !some.contains_key(*name));
                let is_told = |name: &&str| text.contains(&format!("{name} unset"));
                prop_assert!(gone.copied().any(|name| is_told(&name)), "{}", text);
            }
        }
    }

    #[test]
    fn lists_of_slurm_name_the_ranks_of_each_host(
        runs in proptest::collection::vec((1u32..200, 1u32..5), 1..6),
    ) {
        let item = |(ranks, hosts): &(u32, u32)| match hosts {
            1 => ranks.to_string(),
            n => format!("{ranks}(x{n})"),
        };
        let list: Vec<String> = runs.iter().map(item).collect();
        let all = runs.iter().flat_map(|(ranks, hosts)| vec![*ranks; *hosts as usize]);
        let all: Vec<u32> = all.collect();
        for (host, ranks) in (0..).zip(&all) {
            prop_assert_eq!(per_host(&list.join(","), host), Some(*ranks));
        }
        prop_assert_eq!(per_host(&list.join(","), all.len() as u32), None);
    }
}
