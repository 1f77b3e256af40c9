import { useSignal, type Signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { RegistrationReply } from "../../http/routes/admin.ts";
import { slots } from "./slots-texts.ts";
import { COLUMN_VIEWS, COLUMNS, type Column } from "./columns.ts";
import { toggleOrder, type SortOrder, type SlotRow } from "./rows.ts";
import { visibleRowsOf, type RowRange } from "./visible-rows.ts";

interface Props {
  readonly rows: readonly SlotRow[];
  readonly order: Signal<SortOrder>;
  readonly onRelease: (row: SlotRow) => void;
}

/** Heights in rem, as in the style sheet: a row, and the card it becomes on a phone. */
const ROW_HEIGHT = 3.25;
const CARD_HEIGHT = 11;
const phone = matchMedia("(max-width: 40rem)");

/** Screen readers count the header as the first row. */
const HEADER_ROWS = 1;

/**
 * A table of all slots that keeps only the visible rows in the document. `aria-rowcount` and
 * `aria-rowindex` tell screen readers the number of rows and the position of each.
 */
export function SlotTable({ rows, order, onRelease }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const size = useSignal({ height: 0, row: 1 });
  // The first visible row: the table is drawn again when it changes, not with every pixel.
  const top = useSignal(0);
  const visibleRange = (): RowRange => {
    const { height, row } = size.value;
    return visibleRowsOf(top.value, Math.ceil(height / row) + 1, rows.length);
  };
  const updateTop = (): void => {
    top.value = Math.floor((scroller.current?.scrollTop ?? 0) / size.value.row);
    keepFocus(scroller.current, visibleRange());
  };
  useLayoutEffect(() => {
    const { current } = scroller;
    if (current === null) return undefined;
    const measure = (): void => {
      size.value = {
        height: current.clientHeight,
        row: (phone.matches ? CARD_HEIGHT : ROW_HEIGHT) * rem(),
      };
      updateTop();
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  const { row } = size.value;
  const { first, end } = visibleRange();
  return (
    <div
      class="slot-scroller"
      ref={scroller}
      role="region"
      aria-label={slots.tableHint}
      tabIndex={0}
      onScroll={updateTop}
    >
      <div role="table" aria-label={slots.table} aria-rowcount={rows.length + HEADER_ROWS}>
        <div role="rowgroup" class="slot-head">
          <div role="row" class="slot-row" aria-rowindex={1}>
            {COLUMNS.map((column) => (
              <Heading key={column} column={column} order={order} />
            ))}
            <span role="columnheader">
              <span class="visually-hidden">{slots.actions}</span>
            </span>
          </div>
        </div>
        <div role="rowgroup" class="slot-body" style={{ height: `${rows.length * row}px` }}>
          {rows.slice(first, end).map((slotRow, offset) => (
            <SlotRowView
              key={slotRow.key}
              row={slotRow}
              index={first + offset}
              top={(first + offset) * row}
              onRelease={onRelease}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

/** A focused button that is scrolled away loses the focus, and the keys no longer scroll. */
function keepFocus(scroller: HTMLElement | null, { first, end }: RowRange): void {
  const focused = scroller?.querySelector(".slot-body :focus")?.closest("[aria-rowindex]") ?? null;
  if (focused === null) return;
  const index = Number(focused.getAttribute("aria-rowindex")) - HEADER_ROWS - 1;
  if (index < first || index >= end) scroller?.focus({ preventScroll: true });
}

const rem = (): number => Number.parseFloat(getComputedStyle(document.documentElement).fontSize);

function Heading({ column, order }: { column: Column; order: Signal<SortOrder> }) {
  const { column: by, descending } = order.value;
  const sort = by === column ? (descending ? "descending" : "ascending") : "none";
  return (
    <span role="columnheader" aria-sort={sort}>
      <button type="button" onClick={() => (order.value = toggleOrder(column, order.value))}>
        {slots.columns[column]}
        <span aria-hidden="true">{sort === "none" ? "" : descending ? "↓" : "↑"}</span>
      </button>
    </span>
  );
}

interface RowProps {
  readonly row: SlotRow;
  readonly index: number;
  readonly top: number;
  readonly onRelease: (row: SlotRow) => void;
}

function SlotRowView({ row, index, top, onRelease }: RowProps) {
  const { user, product } = row.registration;
  return (
    <div
      role="row"
      class="slot-row"
      aria-rowindex={index + HEADER_ROWS + 1}
      style={{ transform: `translateY(${top}px)` }}
    >
      {COLUMNS.map((column) => (
        <Cell key={column} column={column} registration={row.registration} />
      ))}
      <span role="cell" class="act">
        <button
          type="button"
          class="button"
          aria-label={slots.releaseLabel(user, product)}
          onClick={() => onRelease(row)}
        >
          {slots.release}
        </button>
      </span>
    </div>
  );
}

interface CellProps {
  readonly column: Column;
  readonly registration: RegistrationReply;
}

function Cell({ column, registration }: CellProps) {
  const { text, secondLine, isLabelled = false } = COLUMN_VIEWS[column];
  const below = secondLine?.(registration) ?? null;
  return (
    <span role="cell" class={`cell ${column}`} title={text(registration)}>
      {isLabelled && (
        <span class="label" aria-hidden="true">
          {slots.columns[column]}
        </span>
      )}
      <span class="line">{text(registration)}</span>
      {below !== null && <span class="line more">{below}</span>}
    </span>
  );
}
