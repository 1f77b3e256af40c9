import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { serverStatus } from "../status-stream.ts";
import { Button, CopyButton } from "../parts/button.tsx";
import { EmptyState } from "../parts/empty-state.tsx";
import { Notice } from "../parts/notice.tsx";
import { TimeZoneNote } from "../parts/time.tsx";
import { formatNumber } from "../format.ts";
import { useSharedQuery } from "../use-query.ts";
import { saveText } from "../save.ts";
import { canChange } from "../session.ts";
import { currentRoute } from "../router.ts";
import { siteName } from "../site-name.ts";
import { frame } from "../parts/common-texts.ts";
import { SlotTabs } from "../queue/slot-tabs.tsx";
import { slots } from "./slots-texts.ts";
import { chooseLayout, filledColumns } from "./column-layout.ts";
import { COLUMNS } from "./columns.ts";
import { countText } from "./count-text.ts";
import { csvFileName, csvOf } from "./csv.ts";
import { DetailsDialog } from "./details-dialog.tsx";
import { ReleaseDialog, type ReleaseOutcome } from "./release-dialog.tsx";
import { PrintedSlots } from "./printed-slots.tsx";
import { ReleaseProductDialog } from "./release-product-dialog.tsx";
import { filterRows, type SlotFilter, type SlotRow, type SortOrder } from "./rows.ts";
import { NO_SELECTION, pruneSelection, toggleAll, toggleRow, type Selection } from "./selection.ts";
import { SelectionBar } from "./selection-bar.tsx";
import { slotList } from "./slot-data.ts";
import { sortList, type SortedList } from "./slot-list.ts";
import { rem, SlotTable } from "./slot-table.tsx";
import {
  BorrowedFilter,
  ProductFilter,
  SearchField,
  selectedProduct,
  selectProduct,
  SortFields,
} from "./slot-tools.tsx";
import { useSlotKeys } from "./use-slot-keys.ts";

const LONGEST_FIRST: SortOrder = { column: "duration", descending: true };
const CLOCK_INTERVAL = 10_000;

/** The open dialog, and what it is about. */
type OpenDialog =
  | { readonly kind: "details"; readonly row: SlotRow }
  | { readonly kind: "release"; readonly rows: readonly SlotRow[] }
  | { readonly kind: "product"; readonly product: string };

/** The slots in use, with search, filters, selection and release. */
export function Slots() {
  const view = useRef<HTMLDivElement>(null);
  const { data: list, error } = useSharedQuery(slotList);
  // A link can lead to the slots of one user.
  const search = useSignal(currentRoute.peek().params[1] ?? "");
  const borrowedOnly = useSignal(false);
  const order = useSignal(LONGEST_FIRST);
  const selection = useSignal<Selection>(NO_SELECTION);
  const dialog = useSignal<OpenDialog | null>(null);
  const outcome = useSignal<ReleaseOutcome | null>(null);
  const width = useWidth(view);
  const time = useClock();
  const sorted = useRef<SortedList | null>(null);
  // Sorted before filtering: a key press in the search then only filters.
  const sortedRows = useComputed(() => {
    if (list.value === null) return [];
    sorted.current = sortList(list.value, order.value, sorted.current);
    return sorted.current.rows;
  });
  const filter = useComputed<SlotFilter>(() => ({
    search: search.value,
    product: selectedProduct(),
    borrowedOnly: borrowedOnly.value,
  }));
  const shownRows = useComputed(() => filterRows(sortedRows.value, filter.value));
  const productRows = useComputed(() =>
    filterRows(sortedRows.value, { search: "", product: selectedProduct(), borrowedOnly: false }),
  );
  const filled = useComputed(() => filledColumns(list.value?.rows.values() ?? []));
  const layout = chooseLayout(width.value, filled.value);
  useSignalEffect(() => {
    const { value: current } = list;
    if (current === null) return;
    selection.value = pruneSelection(selection.peek(), (key) => current.rows.has(key));
  });
  useLayoutEffect(() => {
    // The pressed button was removed with its row, and the focus with it.
    const isFocusLost = outcome.value !== null && document.activeElement === document.body;
    if (isFocusLost) document.querySelector<HTMLElement>("#view")?.focus();
  }, [outcome.value]);
  const showAll = (): void => {
    search.value = "";
    borrowedOnly.value = false;
    selectProduct("");
  };
  useSlotKeys(view, { search, selection, showAll });
  const rows = shownRows.value;
  const product = selectedProduct();
  const now = time.value + (list.value?.clockOffset ?? 0);
  const release = (some: readonly SlotRow[]): void => {
    outcome.value = null;
    dialog.value = { kind: "release", rows: some };
  };
  const onRelease = canChange.value ? (row: SlotRow): void => release([row]) : null;
  const close = (): void => void (dialog.value = null);
  const onReleased = (result: ReleaseOutcome): void => void (outcome.value = result);
  const csv = (): string => csvOf(rows, layout.columns);
  const filledList = COLUMNS.filter((column) => filled.value.has(column));
  const hidden = filledList.filter((column) => !layout.columns.includes(column));
  return (
    <div class="slots" ref={view}>
      <h2>{slots.title}</h2>
      <SlotTabs />
      <div class="slot-tools">
        <SearchField value={search} />
        <ProductFilter />
        {layout.kind !== "table" && <SortFields order={order} filled={filled.value} />}
        <BorrowedFilter value={borrowedOnly} />
        <div class="row">
          <CopyButton text={csv}>{slots.copy}</CopyButton>
          <Button onClick={() => save(csv())}>{slots.save}</Button>
        </div>
      </div>
      {error.value !== "" && <Notice kind="bad">{error.value}</Notice>}
      {outcome.value !== null && <Outcome outcome={outcome.value} />}
      <div class="slot-summary">
        <p class="slot-count" role="status">
          {list.value === null
            ? frame.loading
            : countText(filter.value, {
                shown: rows.length,
                inUse: productRows.value.length,
                licensed: countLicensed(product),
              })}
        </p>
        <TimeZoneNote />
        {canChange.value && product !== "" && productRows.value.length > 0 && (
          <Button onClick={() => void (dialog.value = { kind: "product", product })}>
            {slots.allOfProduct.open(product)}
          </Button>
        )}
      </div>
      {canChange.value && rows.length > 0 && (
        <SelectionBar
          shown={rows}
          selection={selection.value}
          onToggleAll={() => (selection.value = toggleAll(selection.value, rows))}
          onClear={() => (selection.value = NO_SELECTION)}
          onRelease={() => release(selectedRows(sortedRows.value, selection.value))}
        />
      )}
      {rows.length > 0 && width.value > 0 && (
        <SlotTable
          rows={rows}
          layout={layout}
          order={order}
          selection={selection}
          now={now}
          onRelease={onRelease}
          onDetails={(row) => (dialog.value = { kind: "details", row })}
          onSelect={(row, isRange) =>
            (selection.value = toggleRow(selection.value, row.key, rows, isRange))
          }
        />
      )}
      <PrintedSlots rows={rows} columns={filledList} now={now} />
      {hidden.length > 0 && rows.length > 0 && (
        <p class="hint hidden-columns">
          {slots.hiddenColumns(hidden.map((column) => slots.columns[column]))}
        </p>
      )}
      {rows.length === 0 && list.value !== null && (
        <EmptyList hasSlots={list.value.rows.size > 0} onShowAll={showAll} />
      )}
      {dialog.value?.kind === "details" && (
        <DetailsDialog row={dialog.value.row} now={now} onRelease={onRelease} onClose={close} />
      )}
      {dialog.value?.kind === "release" && (
        <ReleaseDialog rows={dialog.value.rows} now={now} onClose={close} onReleased={onReleased} />
      )}
      {dialog.value?.kind === "product" && (
        <ReleaseProductDialog
          product={dialog.value.product}
          inUse={productRows.value.length}
          borrowed={productRows.value.filter(({ isBorrowed }) => isBorrowed).length}
          onClose={close}
          onReleased={onReleased}
        />
      )}
    </div>
  );
}

const selectedRows = (rows: readonly SlotRow[], { keys }: Selection): readonly SlotRow[] =>
  rows.filter(({ key }) => keys.has(key));

/** The slots of all licenses of a product; null: it has none. */
function countLicensed(product: string): number | null {
  const licenses = serverStatus.value?.licenses.filter((license) => license.product === product);
  if (licenses === undefined || licenses.length === 0) return null;
  return licenses.reduce((sum, license) => sum + license.floating_users, 0);
}

/** The width of the view in rem; 0: not measured yet. */
function useWidth(view: { readonly current: HTMLElement | null }) {
  const width = useSignal(0);
  useLayoutEffect(() => {
    const { current } = view;
    if (current === null) return undefined;
    const measure = (): void => void (width.value = Math.floor(current.clientWidth / rem()));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return width;
}

/** The browser's time, in steps that are enough for "2 min ago". */
function useClock() {
  const time = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (time.value = Date.now()), CLOCK_INTERVAL);
    return () => clearInterval(timer);
  }, []);
  return time;
}

const Outcome = ({ outcome: { released, notReleased } }: { outcome: ReleaseOutcome }) => (
  <Notice kind={notReleased.length > 0 ? "warn" : "good"}>
    {released}
    {notReleased.length > 0 && (
      <>
        {" "}
        {slots.dialog.notReleasedTitle(notReleased.length, formatNumber(notReleased.length))}
        <ul class="release-list">
          {notReleased.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </>
    )}
  </Notice>
);

const EmptyList = ({ hasSlots, onShowAll }: { hasSlots: boolean; onShowAll: () => void }) =>
  hasSlots ? (
    <EmptyState title={slots.noMatch}>
      <Button onClick={onShowAll}>{slots.showAll}</Button>
    </EmptyState>
  ) : (
    <EmptyState title={slots.none} text={slots.noneText} />
  );

/** Some spreadsheets read a file as UTF-8 only if it begins with this mark. */
const BYTE_ORDER_MARK = "\uFEFF";

const save = (csv: string): void =>
  saveText(
    BYTE_ORDER_MARK + csv,
    csvFileName(siteName.value, new Date()),
    "text/csv;charset=utf-8",
  );
