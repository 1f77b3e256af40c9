import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { formatNumber } from "../format.ts";
import { serverStatus } from "../status-stream.ts";
import { Button, CopyButton } from "../parts/button.tsx";
import { Checkbox } from "../parts/checkbox.tsx";
import { Field } from "../parts/field.tsx";
import { Notice } from "../parts/notice.tsx";
import { navigateTo, currentRoute } from "../router.ts";
import { saveText } from "../save.ts";
import { frame } from "../parts/common-texts.ts";
import { slots } from "./slots-texts.ts";
import { csvOf } from "./csv.ts";
import { ReleaseDialog } from "./release-dialog.tsx";
import { pollSlots, slotLoadError, slotRows } from "./slot-data.ts";
import { filterRows, sortRows, type SortOrder, type SlotRow } from "./rows.ts";
import { SlotTable } from "./slot-table.tsx";

/** The slots in use, with search, filters and release. */
export function Slots() {
  const search = useSignal("");
  const borrowedOnly = useSignal(false);
  const order = useSignal<SortOrder>({ column: "since", descending: false });
  const rowToRelease = useSignal<SlotRow | null>(null);
  const releasedMessage = useSignal("");
  // Sorted before filtering: a key press in the search then only filters.
  const sortedRows = useComputed(() => sortRows(slotRows.value ?? [], order.value));
  const shownRows = useComputed(() =>
    filterRows(sortedRows.value, {
      search: search.value,
      product: selectedProduct(),
      borrowedOnly: borrowedOnly.value,
    }),
  );
  useEffect(() => {
    const stop = new AbortController();
    void pollSlots(stop.signal);
    return () => stop.abort();
  }, []);
  useLayoutEffect(() => {
    // The pressed button was removed with its row, and the focus with it.
    const isFocusLost = releasedMessage.value !== "" && document.activeElement === document.body;
    if (isFocusLost) document.querySelector<HTMLElement>("#view")?.focus();
  }, [releasedMessage.value]);
  const showAll = (): void => {
    search.value = "";
    borrowedOnly.value = false;
    navigateTo("slots");
  };
  return (
    <>
      <h2>{slots.title}</h2>
      <div class="slot-tools">
        <Field label={slots.search} value={search} type="search" />
        <ProductFilter />
        <Checkbox label={slots.borrowedOnly} value={borrowedOnly} />
        <div class="row">
          <CopyButton text={() => csvOf(shownRows.value)}>{slots.copy}</CopyButton>
          <Button onClick={() => save(shownRows.value)}>{slots.save}</Button>
        </div>
      </div>
      {slotLoadError.value !== "" && <Notice kind="bad">{slotLoadError.value}</Notice>}
      {releasedMessage.value !== "" && <Notice kind="good">{releasedMessage.value}</Notice>}
      <p class="slot-count" role="status">
        {slotRows.value === null
          ? frame.loading
          : slots.shownCount(
              formatNumber(shownRows.value.length),
              formatNumber(slotRows.value.length),
            )}
      </p>
      {shownRows.value.length > 0 ? (
        <SlotTable
          rows={shownRows.value}
          order={order}
          onRelease={(row) => (rowToRelease.value = row)}
        />
      ) : (
        slotRows.value !== null && (
          <EmptyList hasSlots={slotRows.value.length > 0} onShowAll={showAll} />
        )
      )}
      {rowToRelease.value !== null && (
        <ReleaseDialog
          row={rowToRelease.value}
          onClose={() => (rowToRelease.value = null)}
          onReleased={(message) => (releasedMessage.value = message)}
        />
      )}
    </>
  );
}

/** Kept in the address, so that a link can lead to the slots of one product. */
const selectedProduct = (): string => currentRoute.value.params[0] ?? "";

function ProductFilter() {
  const selected = selectedProduct();
  const licensed = serverStatus.value?.licenses.map(({ product }) => product) ?? [];
  const products = new Set([...licensed, selected].filter(Boolean));
  return (
    <div class="field">
      <label for="slot-product">{slots.product}</label>
      <select
        id="slot-product"
        value={selected}
        onChange={({ currentTarget: { value } }) =>
          value ? navigateTo("slots", value) : navigateTo("slots")
        }
      >
        <option value="">{slots.allProducts}</option>
        {[...products].map((product) => (
          <option key={product} value={product}>
            {product}
          </option>
        ))}
      </select>
    </div>
  );
}

const EmptyList = ({ hasSlots, onShowAll }: { hasSlots: boolean; onShowAll: () => void }) => (
  <section class="card empty">
    <p>{hasSlots ? slots.noMatch : slots.none}</p>
    {hasSlots && <Button onClick={onShowAll}>{slots.showAll}</Button>}
  </section>
);

/** Some spreadsheets read a file as UTF-8 only if it begins with this mark. */
const BYTE_ORDER_MARK = "\uFEFF";

function save(rows: readonly SlotRow[]): void {
  const day = new Date().toISOString().slice(0, "2026-03-02".length);
  saveText(BYTE_ORDER_MARK + csvOf(rows), slots.fileName(day), "text/csv;charset=utf-8");
}
