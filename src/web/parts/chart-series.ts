/** One line of a chart: values over time. */
export interface ChartSeries {
  readonly name: string;
  /** One value for each time; null is a gap. */
  readonly values: readonly (number | null)[];
  /** Drawn as a thin dashed line. */
  readonly limit: number | null;
  /** The name of a CSS variable. */
  readonly colour: string;
  /** Dashes and gaps in pixels; empty: a solid line. */
  readonly stroke: readonly number[];
}
