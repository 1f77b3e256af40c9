/** From this variance on, a normal distribution is close enough. */
const NORMAL_VARIANCE = 40;

/**
 * The probability that a count with this mean and this variance is at least `wanted`. The count is
 * taken as binomial, Poisson or negative binomial, whichever has this variance: for slots that come
 * free independently of each other, this is exact or close to it.
 */
export function probabilityOfAtLeast(wanted: number, mean: number, variance: number): number {
  if (wanted <= 0) return 1;
  if (mean <= 0) return 0;
  if (variance > NORMAL_VARIANCE) {
    return normalShareBelow((mean - wanted + 0.5) / Math.sqrt(variance));
  }
  // Close to a Poisson distribution the parameters of the two others would be infinite.
  const isBinomial = variance < mean;
  const difference = Math.max(Math.abs(mean - variance), mean * 1e-4);
  if (!isBinomial) {
    return regularizedBeta(difference / (mean + difference), wanted, mean ** 2 / difference);
  }
  const probability = Math.min(1 - 1e-12, difference / mean);
  const rest = mean / probability - wanted + 1;
  return rest <= 0 ? 0 : regularizedBeta(probability, wanted, rest);
}

/** The share of a normal distribution below `x` standard deviations; error below 8e-8. */
function normalShareBelow(x: number): number {
  // Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17.
  const t = 1 / (1 + 0.231_641_9 * Math.abs(x));
  const series =
    t *
    (0.319_381_53 +
      t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
  const upper = (Math.exp(-(x ** 2) / 2) / Math.sqrt(2 * Math.PI)) * series;
  return x >= 0 ? 1 - upper : upper;
}

/** The regularized incomplete beta function, by its continued fraction. */
function regularizedBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // The fraction converges quickly only on this side.
  if (x > (a + 1) / (a + b + 2)) return 1 - regularizedBeta(1 - x, b, a);
  const factor = Math.exp(
    logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x),
  );
  return (factor * betaFraction(x, a, b)) / a;
}

/** Lentz's method. */
function betaFraction(x: number, a: number, b: number): number {
  let c = 1;
  let d = 1 / atLeastTiny(1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  for (let m = 1; m <= 2_000; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / atLeastTiny(1 + even * d);
    c = atLeastTiny(1 + even / c);
    fraction *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / atLeastTiny(1 + odd * d);
    c = atLeastTiny(1 + odd / c);
    const change = d * c;
    fraction *= change;
    if (Math.abs(change - 1) < 1e-10) break;
  }
  return fraction;
}

const atLeastTiny = (value: number): number => (Math.abs(value) < 1e-300 ? 1e-300 : value);

/** Stirling's series, for positive numbers. */
function logGamma(x: number): number {
  let shift = 0;
  let z = x;
  for (; z < 8; z += 1) shift -= Math.log(z);
  const series = 1 / 12 - (1 / 360 - 1 / 1_260 / z ** 2) / z ** 2;
  return shift + (z - 0.5) * Math.log(z) - z + 0.5 * Math.log(2 * Math.PI) + series / z;
}
