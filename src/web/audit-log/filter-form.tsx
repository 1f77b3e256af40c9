import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { serverStatus } from "../status-stream.ts";
import { Select } from "../parts/select.tsx";
import { linkTo } from "../router.ts";
import { auditLog } from "./audit-log-texts.ts";
import { filterLink, isFilterEmpty, type AuditFilter } from "./filter.ts";
import { EVENT_KINDS } from "../../domain/event-row.ts";

/** Waits until typing pauses, so that not every letter causes a request. */
const TYPING_DELAY = 300;

/** The filter is kept in the address, so that it can be shared as a link. */
const navigateToFilter = (filter: AuditFilter): void => location.replace(filterLink(filter));

export function AuditFilterForm({ filter }: { filter: AuditFilter }) {
  const applyFilter = (part: Partial<AuditFilter>): void =>
    navigateToFilter({ ...filter, ...part });
  const products = [...new Set(serverStatus.value?.licenses.map(({ product }) => product))];
  // The audit log can contain a product whose license is no longer installed.
  if (filter.product !== "" && !products.includes(filter.product)) products.push(filter.product);
  return (
    <form
      class="filters"
      aria-label={auditLog.filter.title}
      onSubmit={(event) => event.preventDefault()}
    >
      <Search filter={filter} applyFilter={applyFilter} />
      <Select
        label={auditLog.filter.kind}
        value={filter.kind}
        options={[
          ["", auditLog.filter.all],
          ...EVENT_KINDS.map((kind) => [kind, auditLog.kinds[kind]] as const),
        ]}
        onChange={(kind) => applyFilter({ kind: kind as AuditFilter["kind"] })}
      />
      <Select
        label={auditLog.filter.product}
        value={filter.product}
        options={[
          ["", auditLog.filter.anyProduct],
          ...products.map((product) => [product, product] as const),
        ]}
        onChange={(product) => applyFilter({ product })}
      />
      <DateField
        label={auditLog.filter.from}
        value={filter.from}
        onChange={(from) => applyFilter({ from })}
      />
      <DateField
        label={auditLog.filter.to}
        value={filter.to}
        onChange={(to) => applyFilter({ to })}
      />
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
  const input = useSignal(filter.text);
  useEffect(() => {
    input.value = filter.text;
  }, [filter.text]);
  useEffect(() => {
    if (input.value === filter.text) return undefined;
    const timer = setTimeout(() => applyFilter({ text: input.value }), TYPING_DELAY);
    return () => clearTimeout(timer);
  }, [input.value]);
  return (
    <div class="field">
      <label for={id}>{auditLog.filter.text}</label>
      <input
        id={id}
        type="search"
        value={input.value}
        maxLength={256}
        autocomplete="off"
        onInput={(event) => (input.value = event.currentTarget.value)}
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

/** Filters that come from a link and have no field, and a link that clears all filters. */
function ActiveFilters({ filter }: { filter: AuditFilter }) {
  if (isFilterEmpty(filter)) return null;
  return (
    <p class="active-filters">
      {filter.user !== "" && <span>{auditLog.filter.user(filter.user)}</span>}
      {filter.license !== "" && <span>{auditLog.filter.license(filter.license)}</span>}
      <a class="button" href={linkTo("audit")}>
        {auditLog.filter.clear}
      </a>
    </p>
  );
}
