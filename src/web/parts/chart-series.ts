/** One line of a chart: values over time. */
export interface ChartSeries {
  readonly name: string;
  /** One value for each time; null is a gap. */
  readonly values: readonly (number | null)[];
  /** The limit of each time, drawn as a thin dashed line; null: there is none. */
  readonly limits: readonly (number | null)[] | null;
  /** The name of a CSS variable. */
  readonly colour: string;
  /** Dashes and gaps in pixels; empty: a solid line. */
  readonly stroke: readonly number[];
}
