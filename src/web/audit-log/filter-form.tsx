import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { serverStatus } from "../status-stream.ts";
import { Select } from "../parts/select.tsx";
import { linkTo } from "../router.ts";
import { auditLog } from "../texts/audit-log.ts";
import { filterLink, isFilterEmpty, type AuditFilter } from "./filter.ts";
import { EVENT_KINDS } from "./event-kinds.ts";

/** While somebody types, the server is not asked for every letter. */
const TYPING_DELAY = 300;

/** Stands in the address, so that what one sees can be sent to somebody. */
const navigateToFilter = (filter: AuditFilter): void => location.replace(filterLink(filter));

export function AuditFilterForm({ filter }: { filter: AuditFilter }) {
  const set = (part: Partial<AuditFilter>): void => navigateToFilter({ ...filter, ...part });
  const products = [...new Set(serverStatus.value?.licenses.map(({ product }) => product))];
  // A product that is gone still stands in the record.
  if (filter.product !== "" && !products.includes(filter.product)) products.push(filter.product);
  return (
    <form
      class="filters"
      aria-label={auditLog.filter.title}
      onSubmit={(event) => event.preventDefault()}
    >
      <Search filter={filter} applyFilter={set} />
      <Select
        label={auditLog.filter.kind}
        value={filter.kind}
        options={[
          ["", auditLog.filter.all],
          ...EVENT_KINDS.map((kind) => [kind, auditLog.kinds[kind]] as const),
        ]}
        onChange={(kind) => set({ kind: kind as AuditFilter["kind"] })}
      />
      <Select
        label={auditLog.filter.product}
        value={filter.product}
        options={[["", auditLog.filter.anyProduct], ...products.map((one) => [one, one] as const)]}
        onChange={(product) => set({ product })}
      />
      <DateField
        label={auditLog.filter.from}
        value={filter.from}
        onChange={(from) => set({ from })}
      />
      <DateField label={auditLog.filter.to} value={filter.to} onChange={(to) => set({ to })} />
      <ActiveFilters filter={filter} />
    </form>
  );
}

interface SearchProps {
  readonly filter: AuditFilter;
  readonly applyFilter: (part: Partial<AuditFilter>) => void;
}

function Search({ filter, applyFilter }: SearchProps) {
  const id = useId();
  const typed = useSignal(filter.text);
  useEffect(() => {
    typed.value = filter.text;
  }, [filter.text]);
  useEffect(() => {
    if (typed.value === filter.text) return undefined;
    const later = setTimeout(() => applyFilter({ text: typed.value }), TYPING_DELAY);
    return () => clearTimeout(later);
  }, [typed.value]);
  return (
    <div class="field">
      <label for={id}>{auditLog.filter.text}</label>
      <input
        id={id}
        type="search"
        value={typed.value}
        maxLength={256}
        autocomplete="off"
        onInput={(event) => (typed.value = event.currentTarget.value)}
      />
    </div>
  );
}

interface DateFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function DateField({ label, value, onChange }: DateFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="date"
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    </div>
  );
}

/** What came with a link and has no field of its own, and the way back to everything. */
function ActiveFilters({ filter }: { filter: AuditFilter }) {
  if (isFilterEmpty(filter)) return null;
  return (
    <p class="narrowed">
      {filter.user !== "" && <span>{auditLog.filter.user(filter.user)}</span>}
      {filter.license !== "" && <span>{auditLog.filter.license(filter.license)}</span>}
      <a class="button" href={linkTo("audit")}>
        {auditLog.filter.clear}
      </a>
    </p>
  );
}
