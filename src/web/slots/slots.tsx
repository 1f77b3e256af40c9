import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { number } from "../format.ts";
import { status } from "../live.ts";
import { Button, CopyButton } from "../parts/button.tsx";
import { Check } from "../parts/check.tsx";
import { Field } from "../parts/field.tsx";
import { Notice } from "../parts/notice.tsx";
import { go, place } from "../router.ts";
import { saveText } from "../save.ts";
import { frame } from "../texts/frame.ts";
import { slots } from "../texts/slots.ts";
import { csvOf } from "./csv.ts";
import { FreeDialog } from "./free-dialog.tsx";
import { keepReading, readingFault, taken } from "./reading.ts";
import { filtered, sorted, type Order, type Row } from "./rows.ts";
import { SlotTable } from "./slot-table.tsx";

/** Who holds what, and the way to take it from them. */
export function Slots() {
  const search = useSignal("");
  const borrowedOnly = useSignal(false);
  const order = useSignal<Order>({ column: "since", descending: false });
  const asked = useSignal<Row | null>(null);
  const freed = useSignal("");
  // Sorted before it is filtered: a key press has only the filter to wait for.
  const inOrder = useComputed(() => sorted(taken.value ?? [], order.value));
  const shown = useComputed(() =>
    filtered(inOrder.value, {
      search: search.value,
      product: productOf(),
      borrowedOnly: borrowedOnly.value,
    }),
  );
  useEffect(() => {
    const stop = new AbortController();
    void keepReading(stop.signal);
    return () => stop.abort();
  }, []);
  useEffect(() => {
    // The button that was pressed is gone with its row.
    const isLost = freed.value !== "" && document.activeElement === document.body;
    if (isLost) document.querySelector<HTMLElement>("#view")?.focus();
  }, [freed.value]);
  const showAll = (): void => {
    search.value = "";
    borrowedOnly.value = false;
    go("slots");
  };
  return (
    <>
      <h2>{slots.title}</h2>
      <div class="slot-tools">
        <Field label={slots.search} value={search} type="search" />
        <ProductFilter />
        <Check label={slots.borrowedOnly} value={borrowedOnly} />
        <div class="row">
          <CopyButton text={() => csvOf(shown.value)}>{slots.copy}</CopyButton>
          <Button onClick={() => save(shown.value)}>{slots.save}</Button>
        </div>
      </div>
      {readingFault.value !== "" && <Notice kind="bad">{readingFault.value}</Notice>}
      {freed.value !== "" && <Notice kind="good">{freed.value}</Notice>}
      <p class="slot-count" role="status">
        {taken.value === null
          ? frame.loading
          : slots.shown(number(shown.value.length), number(taken.value.length))}
      </p>
      {shown.value.length > 0 ? (
        <SlotTable rows={shown.value} order={order} onFree={(row) => (asked.value = row)} />
      ) : (
        taken.value !== null && <Nothing any={taken.value.length > 0} onShowAll={showAll} />
      )}
      {asked.value !== null && (
        <FreeDialog
          row={asked.value}
          onClose={() => (asked.value = null)}
          onFreed={(said) => (freed.value = said)}
        />
      )}
    </>
  );
}

/** The address has it, so that a link leads to the slots of one product. */
const productOf = (): string => place.value.rest[0] ?? "";

function ProductFilter() {
  const chosen = productOf();
  const licensed = status.value?.licenses.map(({ product }) => product) ?? [];
  const products = new Set([...licensed, chosen].filter(Boolean));
  return (
    <div class="field">
      <label for="slot-product">{slots.product}</label>
      <select
        id="slot-product"
        value={chosen}
        onChange={({ currentTarget: { value } }) => (value ? go("slots", value) : go("slots"))}
      >
        <option value="">{slots.everyProduct}</option>
        {[...products].map((product) => (
          <option key={product} value={product}>
            {product}
          </option>
        ))}
      </select>
    </div>
  );
}

const Nothing = ({ any, onShowAll }: { any: boolean; onShowAll: () => void }) => (
  <section class="card empty">
    <p>{any ? slots.noMatch : slots.none}</p>
    {any && <Button onClick={onShowAll}>{slots.showAll}</Button>}
  </section>
);

/** Some spreadsheets read a file as UTF-8 only if it begins with this mark. */
const MARK = "\uFEFF";

function save(rows: readonly Row[]): void {
  const day = new Date().toISOString().slice(0, "2026-03-02".length);
  saveText(MARK + csvOf(rows), slots.fileName(day), "text/csv;charset=utf-8");
}
