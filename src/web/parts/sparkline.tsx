interface Props {
  /** Describes the line for screen readers. */
  readonly name: string;
  /** One value for each step; null is a gap. */
  readonly values: readonly (number | null)[];
  /** The limit of each step. */
  readonly limits: readonly (number | null)[];
}

const WIDTH = 160;
const HEIGHT = 36;

/** Values as a small area below the limit of their time. */
export function Sparkline({ name, values, limits }: Props) {
  const top = Math.max(1, ...values.map((value) => value ?? 0), ...limits.map((one) => one ?? 0));
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={name}
    >
      <path class="spark-area" d={areaPath(values, top)} />
      <path class="spark-line" d={stepPath(values, top)} />
      <path class="spark-limit" d={stepPath(limits, top)} />
    </svg>
  );
}

const round = (value: number): number => Math.round(value * 10) / 10;
const xOf = (step: number, count: number): number => round((step / count) * WIDTH);
/** A pixel at the top and at the bottom, so that no line is cut. */
const yOf = (value: number, top: number): number =>
  round(HEIGHT - 1 - (value / top) * (HEIGHT - 2));

/** Each value is drawn over its whole step. */
function stepPath(values: readonly (number | null)[], top: number): string {
  let path = "";
  let isDrawing = false;
  for (const [step, value] of values.entries()) {
    if (value !== null) {
      const [from, to, y] = [
        xOf(step, values.length),
        xOf(step + 1, values.length),
        yOf(value, top),
      ];
      path += `${isDrawing ? "L" : "M"}${from} ${y}H${to}`;
    }
    isDrawing = value !== null;
  }
  return path;
}

function areaPath(values: readonly (number | null)[], top: number): string {
  let path = "";
  for (const [step, value] of values.entries()) {
    if (value === null || value === 0) continue;
    const [from, to] = [xOf(step, values.length), xOf(step + 1, values.length)];
    path += `M${from} ${HEIGHT - 1}V${yOf(value, top)}H${to}V${HEIGHT - 1}Z`;
  }
  return path;
}
