use std::time::{Duration, Instant};
use tcasm_producer::*;
fn main() {
    let mib: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let percent: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let compute: u64 = std::env::args().nth(3).unwrap().parse().unwrap();
    let n = mib << 17;
    let mut p = Producer::builder("probe")
        .capacity(mib << 20)
        .wait_for_capture(std::env::var("WAIT").is_ok())
        .create()
        .unwrap();
    let f = p.field::<u64, _>("u", [n]).add().unwrap();
    let pages: Vec<usize> = (0..n / 512)
        .filter(|i| (i * 7919) % 100 < percent)
        .collect();
    let (mut stalls, mut writes) = (vec![], vec![]);
    for step in 0..40u64 {
        let t = Instant::now();
        {
            let mut v = p.view_mut(f).unwrap();
            let s = v.as_slice_mut().unwrap();
            for i in &pages {
                s[i * 512..i * 512 + 512].fill(step + 1);
            }
        }
        let w = t.elapsed();
        std::thread::sleep(Duration::from_millis(compute));
        let t = Instant::now();
        let r = p.publish(step, 0.0).unwrap();
        let s = t.elapsed();
        if step >= 20 {
            stalls.push(s);
            writes.push(w);
        }
        let vis = match &r {
            Receipt::Published(q) => q.later,
            Receipt::Skipped { reason, .. } => {
                println!("{reason}");
                0
            }
        };
        if step < 12 || step == 39 {
            let mut v = Duration::ZERO;
            if std::env::var("VIS").is_ok() {
                if let Receipt::Published(q) = &r {
                    q.wait_visible(Duration::from_secs(5)).unwrap();
                    v = t.elapsed();
                }
            }
            println!("{step}: write {w:?} publish {s:?} later {vis} visible {v:?}");
        }
    }
    stalls.sort();
    writes.sort();
    println!(
        "publish p50 {:?} max {:?}; write p50 {:?} max {:?}; {:?}",
        stalls[10],
        stalls[19],
        writes[10],
        writes[19],
        p.stats()
    );
    // bare
    let (mut a, b) = (vec![0u64; n], vec![1u64; n]);
    let mut ts = vec![];
    for _ in 0..6 {
        let t = Instant::now();
        a.copy_from_slice(&b);
        ts.push(t.elapsed());
        std::hint::black_box(&mut a);
    }
    ts.sort();
    println!("memcpy {:?}", ts[2]);
    let mut ws = vec![];
    for k in 0..6 {
        let t = Instant::now();
        for i in &pages {
            a[i * 512..i * 512 + 512].fill(k);
        }
        ws.push(t.elapsed());
        std::hint::black_box(&mut a);
    }
    ws.sort();
    println!("bare write {:?}", ws[2]);
}
