use super::*;

#[test]
fn elements_go_with_one_comma_each() {
    let text = "{\"tools\": [ 1 , 2,3 ,\n4 ]}";
    let outline = Outline::parse(text).unwrap();
    let list = outline.list("tools").unwrap();
    let without = |rows: &[usize]| body::without(text, &list, &rows.iter().copied().collect());
    assert_eq!(without(&[]), text);
    assert_eq!(without(&[0]), "{\"tools\": [ 2,3 ,\n4 ]}");
    assert_eq!(without(&[1, 2]), "{\"tools\": [ 1 ,\n4 ]}");
    assert_eq!(without(&[3]), "{\"tools\": [ 1 , 2,3 ]}");
    assert_eq!(without(&[0, 1, 2, 3]), "{\"tools\": [  ]}");
}
