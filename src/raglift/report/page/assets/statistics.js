// Means, intervals and paired tests, as raglift.stats computes them. A value is NaN where a question has none.

const TIED = 1e-9;
const RESAMPLES = 10_000;

// Neumaier's sum: with the rounding error of every addition, nearly as exact as Python's math.fsum.
function exactSum(values) {
  let [sum, lost] = [0, 0];
  for (const value of values) {
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  return sum + lost;
}

function knownOf(values) {
  return values.filter((value) => !Number.isNaN(value));
}

function meanOf(values) {
  const found = knownOf(values);
  return exactSum(found) / found.length;
}

function largestOf(values) {
  return values.reduce((largest, value) => Math.max(largest, value), -Infinity);
}

function spanOf(values) {
  return largestOf(values) + largestOf(values.map((value) => -value));
}

// Differences as parts of the largest one, so that no power overflows or vanishes; null if they do not vary.
function scaledOf(found) {
  const unit = largestOf(found.map(Math.abs));
  if (found.length < 2 || spanOf(found) <= 1e-12 * unit) return null;
  return { unit, parts: found.map((value) => value / unit) };
}

function momentsOf(found) {
  const n = found.length;
  const mean = exactSum(found) / n;
  const away = found.map((value) => value - mean);
  const squares = exactSum(away.map((value) => value * value));
  const cubes = away.map((value) => value * value * value);
  return { mean, variance: squares / n, deviation: Math.sqrt(squares / (n - 1)), cubes, third: exactSum(cubes) / n };
}

// Student's t with any degrees of freedom; with infinitely many it is the normal distribution.

// The density at 0 is Γ((f + 1) / 2) / Γ(f / 2) / √(πf): a series in 1 / f, reached in steps of 2 from few degrees.
function densityOfT(freedom, t) {
  let [scale, many] = [1 / Math.sqrt(2 * Math.PI), freedom];
  for (; many < 60; many += 2) scale *= Math.sqrt(many * (many + 2)) / (many + 1);
  const part = 1 / many;
  const series = part / 4 - part ** 3 / 24 + part ** 5 / 20 - (17 / 112) * part ** 7;
  const exponent = freedom === Infinity ? t * t : (freedom + 1) * Math.log1p((t * t) / freedom);
  return scale * Math.exp(-series - exponent / 2);
}

// How often t is farther from 0 than the limit, by the incomplete beta function: its series in the middle, and in the
// tails the even part of its continued fraction, both written so that nothing cancels however many the degrees.
function beyondT(freedom, limit) {
  const [square, part] = [limit * limit, 1 / freedom];
  const edge = Math.abs(limit) * densityOfT(freedom, limit);
  const x = 1 / (1 + square * part);
  if (square < 3) {
    let [sum, term] = [1, 1];
    for (let k = 1; term > 1e-17 * sum; k++) sum += term *= (square * x * (1 + (2 * k - 1) * part)) / (2 * k + 1);
    return 1 - 2 * edge * sum;
  }
  let fraction = Infinity;
  for (let m = 100; m >= 0; m--) {
    const [below, above] = [1 + (4 * m - 2) * part, 1 + (4 * m + 2) * part];
    const felt = m ? (m * (1 - 2 * m) * part * x) / below : 0;
    const term = m + felt + ((1 + 2 * m * part) * ((x * (square - 1)) / 2 + 1 + m * (2 - x))) / above;
    const over = ((1 + 2 * m * part) * (1 + (2 * m + 1) * part) * (m + 1) * (-0.5 - m) * x * x) / above ** 2;
    fraction = term + over / fraction;
  }
  return edge / fraction;
}

const quantiles = new Map();

// Below what t is with the given probability, from one half on.
function quantileOfT(freedom, share) {
  const name = `${freedom} ${share}`;
  if (!quantiles.has(name)) quantiles.set(name, newQuantileOfT(freedom, 1 - share));
  return quantiles.get(name);
}

// Newton's method from 0: the tail is convex, so that each step goes up until rounding is all that is left.
function newQuantileOfT(freedom, tail) {
  for (let at = 0; ; ) {
    const next = at + (beyondT(freedom, at) / 2 - tail) / densityOfT(freedom, at);
    if (!(next > at * (1 + 1e-15))) return next;
    at = next;
  }
}

// Intervals: [low, high].

function differenceInterval(values, confidence) {
  const found = knownOf(values);
  const scaled = scaledOf(found);
  if (!scaled) return [NaN, NaN];
  const { unit, parts } = scaled;
  const n = parts.length;
  const { mean, deviation, cubes, third } = momentsOf(parts);
  const skewness = third / deviation ** 3;
  const squares = parts.map((value) => value * value);
  const effective = exactSum(squares) ** 2 / exactSum(squares.map((value) => value * value));
  const t = quantileOfT(n - 1, 0.5 + confidence / 2);
  const believed = effective / (effective + 10);
  const centre = mean + (believed * skewness * deviation * (1 + 2 * t * t)) / (6 * n);
  const limit = t * Math.sqrt(1 + 1 / effective);
  const error = deviation / Math.sqrt(n);
  const half = limit * error;
  const sizes = cubes.map(Math.abs);
  const step = (skewness * (1 + (2 * largestOf(sizes)) / exactSum(sizes))) / Math.sqrt(n);
  const low = mean - Math.min(error * hallInverse(limit, step), 1.75 * half);
  const high = mean - Math.max(error * hallInverse(-limit, step), -1.75 * half);
  return [unit * Math.min(centre - half, low, mean), unit * Math.max(centre + half, high, mean)];
}

// The t statistic of which Hall's transformation makes h.
function hallInverse(h, step) {
  const shifted = h - step / 6;
  return Math.abs(step) >= 1e-6 ? (3 / step) * (Math.cbrt(1 + step * shifted) - 1) : shifted;
}

// Of one system's mean; null if it is unknown. Some metrics that are bounded pass 1 all the same.
function meanInterval(values, { confidence, bounded }) {
  const found = knownOf(values);
  if (!found.length) return null;
  if (bounded && largestOf(found) <= 1 + TIED) return wilsonInterval(found, confidence);
  if (!scaledOf(found)) return null;
  const { mean, deviation } = momentsOf(found);
  const half = (quantileOfT(found.length - 1, 0.5 + confidence / 2) * deviation) / Math.sqrt(found.length);
  return [mean - half, mean + half];
}

function wilsonInterval(found, confidence) {
  const shares = found.map((value) => Math.min(Math.max(value, 0), 1));
  const { mean, variance } = momentsOf(shares);
  const possible = mean * (1 - mean);
  const spread = spanOf(shares) <= 1e-12 || possible <= 0 ? 1 : Math.min(variance / possible, 1);
  const weight = (quantileOfT(Infinity, 0.5 + confidence / 2) ** 2 * spread) / shares.length;
  const centre = (mean + weight / 2) / (1 + weight);
  const half = Math.sqrt(weight * possible + weight ** 2 / 4) / (1 + weight);
  return [Math.min(Math.max(centre - half, 0), mean), Math.max(Math.min(centre + half, 1), mean)];
}

// Paired differences. Their p-value takes longer than the rest, so it is computed apart.

function pairedDifference(values, { confidence, bound, seed }) {
  return { ...difference(values, { confidence, bounded: bound === 1 }), ...pOf(values, { confidence, bound, seed }) };
}

function difference(values, { confidence, bounded }) {
  const found = untiedOf(values);
  const [wins, losses] = [1, -1].map((sign) => found.filter((value) => value * sign > 0).length);
  let [low, high] = differenceInterval(found, confidence);
  if (bounded) [low, high] = [Math.max(-1, low), Math.min(1, high)];
  return { n: found.length, mean: meanOf(found), low, high, wins, ties: found.length - wins - losses, losses };
}

// Without gaps; what summing in another order leaves is not a difference.
function untiedOf(values) {
  return knownOf(values).map((value) => (Math.abs(value) <= TIED ? 0 : value));
}

// The p-value, and whether it decides nothing although it is small; without a bound that is not looked at.
function pOf(values, { confidence, bound = null, seed, resamples = RESAMPLES }) {
  const found = untiedOf(values);
  const p = Math.max(signFlipP(values, { seed, resamples }), hallP(found) ?? 0);
  const alpha = 1 - confidence;
  return { p, tooSkewed: bound !== null && p <= alpha && logWealth(found, bound) < Math.log(1 / alpha) };
}

// Null unless differences are strongly skewed against their mean.
function hallP(found) {
  const scaled = scaledOf(found);
  if (!scaled) return null;
  const n = found.length;
  const { mean, variance, deviation, third } = momentsOf(scaled.parts);
  const skewness = third / (variance * Math.sqrt(variance));
  if (skewness * mean >= 0 || Math.abs(skewness) <= 2.5 * Math.sqrt(6 / n)) return null;
  const [t, step] = [(mean / deviation) * Math.sqrt(n), skewness / Math.sqrt(n)];
  return beyondT(n - 1, t + (step * t ** 2) / 3 + (step ** 2 * t ** 3) / 27 + step / 6);
}

// What a bet on the mean earns, as a logarithm; infinite if large differences against the mean are in the sample.
function logWealth(found, bound) {
  const sign = exactSum(found) < 0 ? -1 : 1;
  const along = found.map((value) => value * sign);
  const wins = along.filter((value) => value > 0);
  const average = exactSum(wins) / Math.max(wins.length, 1);
  const small = along.filter((value) => value > Math.min(-0.5 * average + TIED, -TIED));
  if (along.length - small.length > 1 || average >= 0.5 * bound - TIED) return Infinity;
  return exactSum(small.map((value) => Math.log1p(value / bound)));
}

// The sign-flip permutation test, in whole steps: sums are exact, so that p is the same as in Python.
function signFlipP(values, { seed, resamples = RESAMPLES }) {
  const steps = wholeSteps(values);
  const changed = steps.filter((step) => step !== 0);
  const far = Math.abs(changed.reduce((sum, step) => sum + step, 0)) - changed.length;
  if (!changed.length) return 1;
  if (2 ** changed.length > resamples) return (drawnBeyond(steps, far, seed, resamples) + 1) / (resamples + 1);
  // The first sign stays: turning every sign around changes no distance from 0
  let sums = [changed[0]];
  for (const step of changed.subarray(1)) sums = sums.flatMap((sum) => [sum + step, sum - step]);
  return sums.filter((sum) => Math.abs(sum) >= far).length / sums.length;
}

function wholeSteps(values) {
  const differences = values.map((value) => (Math.abs(value) > TIED ? value : 0));
  const largest = largestOf(differences.map(Math.abs));
  const digits = Math.min(36, 52 - (32 - Math.clz32(values.length)));
  // Adding so large a number leaves no fraction, and rounds halves to even as np.rint does
  return differences.map((value) => (value ? (value / largest) * 2 ** digits + 1.5 * 2 ** 52 - 1.5 * 2 ** 52 : 0));
}

// How many of the drawn assignments have a sum at least so far from 0. Signs are looked at by eights: a table has the
// sum of each of their 256 assignments.
function drawnBeyond(steps, far, seed, resamples) {
  const stride = 8 * Math.ceil(steps.length / 64);
  const signs = drawnBytes(seed, stride * resamples);
  const rows = [...steps.keys()].filter((row) => steps[row] !== 0);
  const eights = Int32Array.from(new Set(rows.map((row) => row >> 3)));
  const tables = new Float64Array(256 * eights.length);
  eights.forEach((eight, place) => {
    const table = tables.subarray(256 * place, 256 * (place + 1));
    const own = steps.subarray(8 * eight, 8 * eight + 8);
    table[0] = own.reduce((sum, step) => sum - step, 0);
    // The first sign is the highest bit; one more plus adds its step twice
    for (let byte = 1; byte < 256; byte++) {
      table[byte] = table[byte & (byte - 1)] + 2 * (own[Math.clz32(byte & -byte) - 24] ?? 0);
    }
  });
  let beyond = 0;
  for (let draw = 0; draw < resamples; draw++) {
    let sum = 0;
    for (let place = 0; place < eights.length; place++) {
      sum += tables[256 * place + signs[draw * stride + eights[place]]];
    }
    if (Math.abs(sum) >= far) beyond += 1;
  }
  return beyond;
}

const drawnSigns = new Map();

// The bytes that numpy's PCG64 draws from a state, drawn once: another number of questions needs the same ones.
function drawnBytes({ state, increment }, length) {
  const name = `${state} ${increment}`;
  const before = drawnSigns.get(name) ?? { at: BigInt(state), bytes: new Uint8Array() };
  if (before.bytes.length >= length) return before.bytes;
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  const step = BigInt(increment);
  let at = before.at;
  bytes.set(before.bytes);
  for (let place = before.bytes.length; place < length; place += 8) {
    at = BigInt.asUintN(128, at * 0x2360ed051fc65da44385df649fccf645n + step);
    const mixed = BigInt.asUintN(64, at ^ (at >> 64n));
    const turn = at >> 122n;
    view.setBigUint64(place, BigInt.asUintN(64, (mixed >> turn) | (mixed << (64n - turn))), true);
  }
  drawnSigns.set(name, { at, bytes });
  return bytes;
}

// Holm's correction; NaN if there was no test.
function holm(ps) {
  const adjusted = Float64Array.from(ps, () => NaN);
  const order = [...ps.keys()].filter((place) => !Number.isNaN(ps[place])).sort((a, b) => ps[a] - ps[b]);
  let least = 0;
  order.forEach((place, rank) => {
    least = Math.max(least, ps[place] * (order.length - rank));
    adjusted[place] = Math.min(least, 1);
  });
  return adjusted;
}

function verdict({ mean, tooSkewed }, p, confidence) {
  if (p > 1 - confidence || mean === 0) return "not significant";
  if (tooSkewed) return "too skewed to decide";
  return mean > 0 ? "better" : "worse";
}
