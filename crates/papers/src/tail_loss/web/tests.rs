use super::*;

/// The cells of the paper's sites.
fn cells(downloads: usize, threads: usize) -> Vec<WebCell> {
    let base = Scenario::load(NAME).unwrap();
    run(&base, &sites::pages(), downloads, threads).unwrap()
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    assert_eq!(cells(3, 1), cells(3, 2));
}

#[test]
#[ignore = "prints"]
fn print_all() {
    let base = Scenario::load(NAME).unwrap();
    let n = std::env::var("N").unwrap().parse().unwrap();
    let pages = Pages {
        own: None,
        downloads: Some(n),
    };
    println!("{}", sheet(&base, &pages).unwrap().table);
}
