import type { Signal } from "@preact/signals";
import { serverStatus } from "../status-stream.ts";
import { Checkbox } from "../parts/checkbox.tsx";
import { Field } from "../parts/field.tsx";
import { Select } from "../parts/select.tsx";
import { currentRoute, navigateTo } from "../router.ts";
import { COLUMNS, type Column } from "./columns.ts";
import type { SortOrder } from "./rows.ts";
import { slots } from "./slots-texts.ts";

/** Kept in the address, so that a link can lead to the slots of one product. */
export const selectedProduct = (): string => currentRoute.value.params[0] ?? "";

export const selectProduct = (product: string): void =>
  product === "" ? navigateTo("slots") : navigateTo("slots", product);

export function ProductFilter() {
  const selected = selectedProduct();
  const licensed = serverStatus.value?.licenses.map(({ product }) => product) ?? [];
  const products = [...new Set([...licensed, selected].filter(Boolean))];
  return (
    <Select
      label={slots.product}
      value={selected}
      options={[["", slots.allProducts], ...products.map((name) => [name, name] as const)]}
      onChange={selectProduct}
    />
  );
}

export const SearchField = ({ value }: { value: Signal<string> }) => (
  <div class="slot-search" title={slots.searchHint}>
    <Field label={slots.search} value={value} type="search" />
  </div>
);

interface SortProps {
  readonly order: Signal<SortOrder>;
  readonly filled: ReadonlySet<Column>;
}

/** For cards, which have no header row. */
export function SortFields({ order, filled }: SortProps) {
  const { column, descending } = order.value;
  const columns = COLUMNS.filter((one) => filled.has(one) || one === column);
  return (
    <>
      <Select
        label={slots.sortBy}
        value={column}
        options={columns.map((one) => [one, slots.columns[one]] as const)}
        onChange={(name) => {
          const next = columns.find((one) => one === name) ?? column;
          order.value = { column: next, descending };
        }}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={descending}
          onChange={({ currentTarget }) =>
            (order.value = { column, descending: currentTarget.checked })
          }
        />
        {slots.descending}
      </label>
    </>
  );
}

export const BorrowedFilter = ({ value }: { value: Signal<boolean> }) => (
  <Checkbox label={slots.borrowedOnly} value={value} />
);
