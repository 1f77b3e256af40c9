// Figures, their goals, and how both are printed.

export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** Null: for information only. */
  readonly goal: Goal | null;
}

interface Goal {
  readonly is: "least" | "most" | "below";
  readonly value: number;
}

export const atLeast = (value: number): Goal => ({ is: "least", value });
export const atMost = (value: number): Goal => ({ is: "most", value });
export const below = (value: number): Goal => ({ is: "below", value });

const SIGNS = { least: ">=", most: "<=", below: "<" } as const;

export function isMet({ value, goal }: Figure): boolean {
  if (goal === null) return true;
  if (goal.is === "least") return value >= goal.value;
  return goal.is === "most" ? value <= goal.value : value < goal.value;
}

/** A table of all figures, with their goals if they have one. */
export function formatGoals(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => {
    const { what, value, unit, goal } = figure;
    const goalText = goal === null ? "" : `${SIGNS[goal.is]} ${formatNumber(goal.value)}`;
    const verdict = goal === null ? "" : isMet(figure) ? "met" : "MISSED";
    return [what, goalText, formatValue(value, unit), verdict];
  });
  return formatColumns([["", "goal", "figure", ""], ...rows]);
}

/** A ratio has two decimals: versions often differ by a few hundredths only. */
function formatValue(value: number, unit: string): string {
  if (!Number.isFinite(value)) return "-";
  if (unit === "x" && value < 10) return `${value.toFixed(2)} ${unit}`;
  return `${formatNumber(value)} ${unit}`.trimEnd();
}

/** A whole number if large; with two or three significant digits if small. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "-";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(Math.abs(value) >= 10 ? 3 : 2)));
}

/** The first column is aligned left, all others right. */
export function formatColumns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** For an even count, the mean of the two middle numbers. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = NaN, high = NaN] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return (low + high) / 2;
}
