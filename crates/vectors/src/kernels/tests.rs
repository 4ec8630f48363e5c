//! Compares every kernel with the portable one, over many shapes and extreme values.

use proptest::prelude::*;

use super::*;

fn numbers(seed: u64, count: usize, largest: f32) -> Vec<f32> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next() * largest).collect()
}

fn tiles(seed: u64, rows: usize, panels: usize, largest: f32) -> Tiles<f32> {
    let mut tiles = Tiles::new(rows, panels);
    tiles.as_mut_slice().copy_from_slice(&numbers(seed, rows * panels * PANEL, largest));
    tiles
}

fn near(a: &[f32], b: &[f32], scale: f32) -> Result<(), TestCaseError> {
    for (a, b) in a.iter().zip(b) {
        prop_assert!((a - b).abs() <= 1e-5 * scale, "{a} {b}");
    }
    Ok(())
}

/// The instruction sets of this machine that have a fused multiply-add.
fn fused() -> Vec<Isa> {
    Isa::all().into_iter().filter(|isa| math::ALWAYS_FUSED || *isa != Isa::Portable).collect()
}

/// Test values of activations.
fn extreme_bytes() -> impl Strategy<Value = Vec<u8>> {
    let all = (0..=255).collect();
    prop::sample::select(vec![vec![0], vec![255], vec![0, 255], vec![127, 128], all])
}

/// Test values of weights, as bytes. −128 is never stored, but kernels accept it.
fn extreme_weights() -> impl Strategy<Value = Vec<u8>> {
    let bytes = |weights: Vec<i8>| weights.into_iter().map(|w| w as u8).collect();
    let sets = vec![vec![-127], vec![127], vec![-128], vec![-127, 127], (-127..=127).collect()];
    prop::sample::select(sets.into_iter().map(bytes).collect::<Vec<Vec<u8>>>())
}

proptest! {
    #[test]
    fn f32_products_agree(seed: u64, rows in 1usize..40, panels in 1usize..5, outputs in 1usize..4,
                          largest in prop::sample::select(vec![1e-20f32, 1.0, 1e15])) {
        let (inputs, outputs) = (panels * PANEL, outputs * PANEL);
        let x = tiles(seed, rows, panels, largest);
        let (weight, bias) = (numbers(seed ^ 7, inputs * outputs, 1.0), numbers(seed ^ 9, outputs, largest));
        let multiply = |isa| {
            let packed = PackedF32::pack(isa, &weight, &bias, inputs);
            let mut out = Tiles::new(rows, packed.panels());
            packed.multiply(&Left::all(&x), 0..packed.panels(), out.as_mut_slice());
            out
        };
        let right = multiply(Isa::Portable);
        // The definition of the product, for one output.
        let at = |r: usize, k: usize| f64::from(x.piece(k / PANEL, r)[k % PANEL]);
        let sum: f64 = (0..inputs).map(|k| at(rows - 1, k) * f64::from(weight[3 * inputs + k])).sum();
        let scale = largest * inputs as f32;
        near(&[right.piece(0, rows - 1)[3]], &[(sum + f64::from(bias[3])) as f32], scale)?;
        for isa in Isa::all() {
            near(multiply(isa).as_slice(), right.as_slice(), scale)?;
        }
        // Rounded weights are pinned by hashes and are derived from f32 products, so these must be
        // bit-identical.
        let bits = |isa| multiply(isa).as_slice().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        for pair in fused().windows(2) {
            prop_assert_eq!(bits(pair[0]), bits(pair[1]), "{} {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn rows_are_rounded_alike(seed: u64, rows in 1usize..9, panels in 1usize..14,
                              largest in prop::sample::select(vec![0.0f32, 1e-20, 1.0, 1e15])) {
        let x = tiles(seed, rows, panels, largest);
        let factors: Vec<f32> = numbers(seed ^ 7, panels * PANEL, 3.0).iter().map(|x| x.abs() + 0.01).collect();
        let quantize = |isa| {
            let mut out = QuantizedRows::default();
            Math::for_isa(isa).quantize(&x, &factors, &mut out);
            out
        };
        let right = quantize(Isa::Portable);
        for isa in Isa::all() {
            let got = quantize(isa);
            prop_assert_eq!((&got.scales, &got.zeros), (&right.scales, &right.zeros), "{}", isa);
            // Fused operations may round a tie differently.
            let apart = got.tiles.as_slice().iter().zip(right.tiles.as_slice()).map(|(a, b)| a.abs_diff(*b));
            prop_assert!(apart.max() <= Some(1), "{}", isa);
        }
        for pair in fused().windows(2) {
            let (one, other) = (quantize(pair[0]), quantize(pair[1]));
            prop_assert_eq!(one.tiles.as_slice(), other.tiles.as_slice(), "{} {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn f32_products_of_any_depth_agree(seed: u64, rows in 1usize..70, depth in 1usize..100) {
        let x = tiles(seed, rows, depth.div_ceil(PANEL), 1.0);
        let left = Left { depth, ..Left::all(&x) };
        let (panel, bias) = (numbers(seed ^ 3, depth * PANEL, 1.0), numbers(seed ^ 5, PANEL, 1.0));
        let multiply = |isa| {
            let mut out = vec![0.0; rows * PANEL];
            multiply_panel(isa, &left, &panel, &bias, &mut out);
            out
        };
        let right = multiply(Isa::Portable);
        for isa in Isa::all() {
            near(&multiply(isa), &right, depth as f32)?;
        }
    }

    #[test]
    fn i8_products_are_those_of_the_definition(seed: u64, rows in 1usize..40, panels in 1usize..5,
                                               outputs in 1usize..4) {
        let (inputs, outputs) = (panels * PANEL, outputs * PANEL);
        let weight = QuantizedWeight::quantize(&numbers(seed, inputs * outputs, 1.0), inputs);
        let mut x = QuantizedRows { tiles: Tiles::new(rows, panels), scales: vec![0.5; rows], zeros: (0..rows).map(|r| (r * 29 % 256) as i32).collect() };
        let bytes = numbers(seed ^ 3, rows * inputs, 127.0);
        for (to, from) in x.tiles.as_mut_slice().iter_mut().zip(&bytes) {
            *to = (*from + 128.0) as u8;
        }
        for isa in Isa::all() {
            let packed = PackedI8::new(isa, PackedWeight::of(&weight), &vec![0.0; outputs]);
            let mut out = Tiles::<f32>::new(rows, packed.panels());
            packed.multiply(&x, 0..packed.panels(), out.as_mut_slice());
            for r in 0..rows {
                let at = |k: usize| i64::from(x.tiles.piece(k / PANEL, r)[k % PANEL]) - i64::from(x.zeros[r]);
                let sum: i64 = (0..inputs).map(|k| at(k) * i64::from(weight.numbers[k])).sum();
                // The sums are integers: only the last multiplication rounds.
                let expected = sum as f32 * 0.5 * weight.scales[0];
                let got = out.piece(0, r)[0];
                prop_assert!((got - expected).abs() <= expected.abs() * 1e-6, "{isa}: {got} {expected}");
            }
        }
    }

    #[test]
    fn i8_products_of_extremes_are_the_same_bits(seed: u64, rows in 1usize..20, panels in 1usize..14,
                                                 outputs in 1usize..4, bytes in extreme_bytes(),
                                                 weights in extreme_weights()) {
        let (inputs, outputs) = (panels * PANEL, outputs * PANEL);
        let pick = |from: &[u8], at: usize, count| -> Vec<u8> {
            let numbers = numbers(seed ^ at as u64, count, from.len() as f32 / 2.0);
            let half = from.len() as f32 / 2.0;
            numbers.iter().map(|x| from[((x + half) as usize).min(from.len() - 1)]).collect()
        };
        let mut x = QuantizedRows { tiles: Tiles::new(rows, panels), ..QuantizedRows::default() };
        x.tiles.as_mut_slice().copy_from_slice(&pick(&bytes, 3, rows * inputs));
        x.zeros = (0..rows).map(|r| [0, 255, 128, (r * 29 % 256) as i32][(seed as usize + r) % 4]).collect();
        let weights = pick(&weights, 5, inputs * outputs).iter().map(|w| *w as i8).collect();
        let mut weight = QuantizedWeight { inputs, numbers: weights, scales: vec![0.25; outputs] };
        let mut bias = vec![0.0; outputs];
        x.scales = vec![0.5; rows];
        // With scales of 2ⁿ and no bias, no rounding happens after the integer sum, fused or not.
        // If the plain loops are fused like the other kernels, any scales give the same result.
        if math::ALWAYS_FUSED && seed % 4 > 0 {
            x.scales = numbers(seed ^ 11, rows, 3.0);
            weight.scales = numbers(seed ^ 13, outputs, 3.0);
            bias = numbers(seed ^ 17, outputs, 1e4);
        }
        let multiply = |isa| {
            let packed = PackedI8::new(isa, PackedWeight::of(&weight), &bias);
            let mut out = Tiles::<f32>::new(rows, packed.panels());
            packed.multiply(&x, 0..packed.panels(), out.as_mut_slice());
            out.as_slice().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        let right = multiply(Isa::Portable);
        for isa in Isa::all() {
            prop_assert_eq!(&multiply(isa), &right, "{}", isa);
        }
    }

    #[test]
    fn what_is_packed_comes_back(seed: u64, panels in 1usize..5, outputs in 1usize..4) {
        let weight = numbers(seed, panels * outputs * PANEL * PANEL, 1.0);
        let weight = QuantizedWeight::quantize(&weight, panels * PANEL);
        let packed = PackedWeight::of(&weight);
        prop_assert!(packed.is_whole());
        prop_assert_eq!(packed.unpacked(), weight);
    }

    #[test]
    fn quantised_weights_are_within_half_a_step(seed: u64, rows in 1usize..8) {
        let weight = numbers(seed, rows * 32, 3.0);
        let quantized = QuantizedWeight::quantize(&weight, 32);
        for (at, (q, w)) in quantized.numbers.iter().zip(&weight).enumerate() {
            let step = quantized.scales[at / 32];
            prop_assert!((f32::from(*q) * step - w).abs() <= step * 0.5001);
        }
    }
}

/// Tests the 256-bit byte dot product in its EVEX encoding.
#[test]
#[cfg(target_arch = "x86_64")]
fn the_body_of_avx_vnni_agrees_in_its_other_encoding() {
    use super::portable::{Dequantize, product_i8};

    if !(std::arch::is_x86_feature_detected!("avx512vnni")
        && std::arch::is_x86_feature_detected!("avx512vl"))
    {
        eprintln!("SKIPPED: this machine has no AVX-512-VNNI");
        return;
    }
    let mut x = Tiles::<u8>::new(5, 3);
    x.as_mut_slice().iter_mut().enumerate().for_each(|(at, x)| *x = (at * 37 % 256) as u8);
    let panel: Vec<i8> = (0..96 * PANEL).map(|at| (at * 73 % 255) as u8 as i8).collect();
    let (columns, ones, bias) = ([-5; PANEL], [1.0; PANEL], [0.0; PANEL]);
    let zeros = [0, 1, 128, 200, 255];
    let back = Dequantize {
        columns: &columns,
        scales: &ones,
        bias: &bias,
        row_scales: &ones[..5],
        zeros: &zeros,
    };
    let (mut right, mut got) = (vec![0.0; 5 * PANEL], vec![0.0; 5 * PANEL]);
    product_i8(&Left::all(&x), 0, &panel, back, &mut right);
    // SAFETY: the features were checked above; the shapes are those of the portable call.
    unsafe { x86::i8_vnni_evex::<5>(&Left::all(&x), 0, &panel, back, &mut got) };
    assert_eq!(got, right);
}

#[test]
fn the_machine_runs_at_least_the_plain_loops() {
    assert_eq!(Isa::all().last(), Some(&Isa::Portable));
    assert_eq!(Isa::detect(), Isa::all()[0]);
    // `scripts/check_neon.sh` searches the output for these names.
    let names: Vec<String> = Isa::all().iter().map(Isa::to_string).collect();
    println!("kernels of this machine: {}", names.join(", "));
}
