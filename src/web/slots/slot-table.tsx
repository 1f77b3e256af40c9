import { useSignal, type ReadonlySignal, type Signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { slots } from "./slots-texts.ts";
import type { Column } from "./columns.ts";
import { gridColumnsOf, type Layout } from "./column-layout.ts";
import { toggleOrder, type SortOrder, type SlotRow } from "./rows.ts";
import type { Selection } from "./selection.ts";
import { SlotRowView, type RowActions } from "./slot-row.tsx";
import { visibleRowsOf, type RowRange } from "./visible-rows.ts";

interface Props extends RowActions {
  readonly rows: readonly SlotRow[];
  readonly layout: Layout;
  readonly order: Signal<SortOrder>;
  readonly selection: ReadonlySignal<Selection>;
  /** The server's time in milliseconds. */
  readonly now: number;
}

/** Screen readers count the header as the first row. */
const HEADER_ROWS = 1;

export const rem = (): number =>
  Number.parseFloat(getComputedStyle(document.documentElement).fontSize);

/**
 * A table of all slots that keeps only the visible rows in the document. `aria-rowcount` and
 * `aria-rowindex` tell screen readers the number of rows and the position of each.
 */
export function SlotTable({ rows, layout, order, selection, now, ...actions }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const height = useSignal(0);
  // The first visible row: the table is drawn again when it changes, not with every pixel.
  const top = useSignal(0);
  const rowHeight = layout.rowHeight * rem();
  const visibleRange = (): RowRange =>
    visibleRowsOf(top.value, Math.ceil(height.value / rowHeight) + 1, rows.length);
  const updateTop = (): void => {
    top.value = Math.floor((scroller.current?.scrollTop ?? 0) / rowHeight);
    keepFocus(scroller.current, visibleRange());
  };
  useLayoutEffect(() => {
    const { current } = scroller;
    if (current === null) return undefined;
    const measure = (): void => {
      height.value = current.clientHeight;
      updateTop();
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, [rowHeight]);
  const { first, end } = visibleRange();
  const { keys } = selection.value;
  return (
    <div
      class={`slot-scroller ${layout.kind}`}
      ref={scroller}
      role="region"
      aria-label={slots.tableHint}
      tabIndex={0}
      onScroll={updateTop}
    >
      <div
        role="table"
        class={actions.onRelease === null ? "no-select" : ""}
        aria-label={slots.table}
        aria-rowcount={rows.length + HEADER_ROWS}
        style={{ "--slot-columns": gridColumnsOf(layout) }}
      >
        <TableHead layout={layout} order={order} canSelect={actions.onRelease !== null} />
        <div role="rowgroup" class="slot-body" style={{ height: `${rows.length * rowHeight}px` }}>
          {rows.slice(first, end).map((row, offset) => (
            <SlotRowView
              key={row.key}
              row={row}
              rowIndex={first + offset + HEADER_ROWS + 1}
              top={(first + offset) * rowHeight}
              layout={layout}
              isSelected={keys.has(row.key)}
              now={now}
              {...actions}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

/** A focused control that is scrolled away loses the focus, and the keys no longer scroll. */
function keepFocus(scroller: HTMLElement | null, { first, end }: RowRange): void {
  const focused = scroller?.querySelector(".slot-body :focus")?.closest("[aria-rowindex]") ?? null;
  if (focused === null) return;
  const index = Number(focused.getAttribute("aria-rowindex")) - HEADER_ROWS - 1;
  if (index < first || index >= end) scroller?.focus({ preventScroll: true });
}

interface HeadProps {
  readonly layout: Layout;
  readonly order: Signal<SortOrder>;
  readonly canSelect: boolean;
}

/** Cards have no header that can be seen: the tools above the list have a field to sort by. */
const TableHead = ({ layout, order, canSelect }: HeadProps) => (
  <div role="rowgroup" class={layout.kind === "table" ? "slot-head" : "visually-hidden"}>
    <div role="row" class="slot-row table" aria-rowindex={1}>
      {canSelect && (
        <span role="columnheader" class="select">
          <span class="visually-hidden">{slots.selection.column}</span>
        </span>
      )}
      {layout.kind === "table" &&
        layout.columns.map((column) => <Heading key={column} column={column} order={order} />)}
      <span role="columnheader" class="act">
        <span class="visually-hidden">{slots.actions}</span>
      </span>
    </div>
  </div>
);

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
