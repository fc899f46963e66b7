//! Tests of the cluster itself.

use super::Cluster;
use std::path::Path;

/// Returns true if a process on a host sees a file.
fn sees(cluster: &Cluster, host: usize, file: &Path) -> bool {
    let file = file.to_str().expect("paths of tests are text");
    cluster.start(host, &["test", "-e", file]).wait().success()
}

#[test]
fn file_on_the_disk_of_a_host_is_seen_by_no_other_host_until_the_disk_is_lost() {
    let mut cluster = Cluster::new(2);
    let file = cluster.disk(0).join("file");
    let write = format!("echo written > {}", file.display());
    assert!(cluster.start(0, &["sh", "-c", &write]).wait().success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "written\n");
    assert!(sees(&cluster, 0, &file));
    assert!(sees(&cluster, 1, &cluster.disk(1)));
    if cluster.has_networks() {
        assert!(!sees(&cluster, 1, &file));
        assert!(!sees(&cluster, 1, &cluster.disk(0)));
        cluster.kill(0);
        cluster.restart(0);
        assert!(sees(&cluster, 0, &file), "a disk outlives its host");
    }
    cluster.lose_disk(0);
    assert!(!sees(&cluster, 0, &file) && !file.exists());
    assert!(sees(&cluster, 0, &cluster.disk(0)));
}
