//! Crawls every page that can be reached from the seed, with the crate `spider`.
//!
//!     peer DIRECTORY SEEDS
//!
//! DIRECTORY gets pages.txt, the URL of each answer. SEEDS has one URL: a crawl is of one website.

use std::fs::{read_to_string, File};
use std::io::{stdin, BufWriter, Write};
use std::path::Path;

use spider::tokio;
use spider::website::Website;

const AT_ONCE: usize = 16;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let seeds = read_to_string(&arguments[2]).expect("a file of seeds");
    let file = File::create(Path::new(&arguments[1]).join("pages.txt")).expect("a directory");
    let mut pages = BufWriter::new(file);

    let mut website = Website::new(seeds.trim());
    website
        .with_respect_robots_txt(true)
        .with_delay(0)
        .with_concurrency_limit(Some(AT_ONCE));
    println!("begin");
    website.crawl().await;
    for link in website.get_links() {
        writeln!(pages, "{}", link.inner()).expect("room on the disk");
    }
    pages.flush().expect("room on the disk");
    println!("end");
    // What it has used is read before it is gone.
    stdin().read_line(&mut String::new()).expect("an answer");
}
