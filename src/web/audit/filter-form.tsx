import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { serverStatus } from "../status-stream.ts";
import { Select } from "../parts/select.tsx";
import { linkTo } from "../router.ts";
import { auditLog } from "./audit-log-texts.ts";
import { filterLink, isFilterEmpty, type AuditFilter } from "./filter.ts";
import { EVENT_KINDS } from "../../domain/model/event-row.ts";

/** Waits until typing pauses, so that not every letter causes a request. */
const TYPING_DELAY = 300;

/** The filter is kept in the address, so that it can be shared as a link. */
export function AuditFilterForm({ filter }: { filter: AuditFilter }) {
  const link = filterLink(filter);
  const typedText = useSignal(filter.text);
  /** The address that this form has set. */
  const appliedLink = useRef(link);
  const applyFilter = (part: Partial<AuditFilter>): void => {
    appliedLink.current = filterLink({ ...filter, text: typedText.value, ...part });
    location.replace(appliedLink.current);
  };
  // Another address was opened: the field shows its text. After an address of this form it keeps
  // its own, since the user may have typed on meanwhile.
  useEffect(() => {
    if (link !== appliedLink.current) typedText.value = filter.text;
    appliedLink.current = link;
  }, [link]);
  const products = [...new Set(serverStatus.value?.licenses.map(({ product }) => product))];
  // The audit log can contain a product whose license is no longer installed.
  if (filter.product !== "" && !products.includes(filter.product)) products.push(filter.product);
  return (
    <form
      class="filters"
      aria-label={auditLog.filter.title}
      onSubmit={(event) => event.preventDefault()}
    >
      <Search text={typedText} appliedText={filter.text} onPause={() => applyFilter({})} />
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
  readonly text: Signal<string>;
  /** The text that the list is filtered by. */
  readonly appliedText: string;
  /** The user has stopped typing. */
  readonly onPause: () => void;
}

function Search({ text, appliedText, onPause }: SearchProps) {
  const id = useId();
  // The timer must use the filter as it is then, not as it was when typing began.
  const latest = useRef(onPause);
  latest.current = onPause;
  useEffect(() => {
    if (text.value === appliedText) return undefined;
    const timer = setTimeout(() => latest.current(), TYPING_DELAY);
    return () => clearTimeout(timer);
  }, [text.value, appliedText]);
  return (
    <div class="field">
      <label for={id}>{auditLog.filter.text}</label>
      <input
        id={id}
        type="search"
        value={text.value}
        maxLength={256}
        autocomplete="off"
        onInput={(event) => (text.value = event.currentTarget.value)}
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
