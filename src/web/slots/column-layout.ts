import { COLUMN_VIEWS, COLUMNS, isFilled, type Column } from "./columns.ts";
import type { SlotRow } from "./rows.ts";

const BY_RANK = COLUMNS.toSorted((a, b) => COLUMN_VIEWS[a].rank - COLUMN_VIEWS[b].rank);

/** The columns for the check box and the buttons, with the padding of the row. */
const FIXED_WIDTH = 16;

/** Below this width in rem, a slot is shown as a card. */
const CARD_WIDTH = 54;
/** Below this width in rem, the parts of a card are below each other. */
const NARROW_CARD_WIDTH = 38;

export interface Layout {
  readonly kind: "table" | "wide-card" | "narrow-card";
  /** In the order in which they are shown. */
  readonly columns: readonly Column[];
  /** The height of a row in rem. */
  readonly rowHeight: number;
}

/** Chooses what fits into a width; columns in `filled` have something to show. */
export function chooseLayout(width: number, filled: ReadonlySet<Column>): Layout {
  const columns = COLUMNS.filter((column) => filled.has(column));
  if (width < NARROW_CARD_WIDTH) return { kind: "narrow-card", columns, rowHeight: 8 };
  if (width < CARD_WIDTH) return { kind: "wide-card", columns, rowHeight: 4.5 };
  let left = width - FIXED_WIDTH;
  const shown = new Set<Column>();
  for (const column of BY_RANK) {
    const { least } = COLUMN_VIEWS[column].width;
    if (!filled.has(column) || least > left) continue;
    left -= least;
    shown.add(column);
  }
  return { kind: "table", columns: columns.filter((column) => shown.has(column)), rowHeight: 2.5 };
}

/** The columns of the grid, for the header and for every row. */
export const gridColumnsOf = ({ columns }: Layout): string =>
  columns
    .map((column) => {
      const { least, share } = COLUMN_VIEWS[column].width;
      return share === 0 ? `${least}rem` : `minmax(${least}rem, ${share}fr)`;
    })
    .join(" ");

/** The columns in which at least one slot has something to show. */
export function filledColumns(rows: Iterable<SlotRow>): ReadonlySet<Column> {
  const empty = new Set(COLUMNS);
  for (const { registration } of rows) {
    for (const column of empty) if (isFilled(column, registration)) empty.delete(column);
    if (empty.size === 0) break;
  }
  return new Set(COLUMNS.filter((column) => !empty.has(column)));
}
