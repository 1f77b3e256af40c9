import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { status } from "../live.ts";
import { Choice } from "../parts/choice.tsx";
import { linkTo } from "../router.ts";
import { record } from "../texts/record.ts";
import { addressOf, isEverything, type Filter } from "./filter.ts";
import { KINDS } from "./kinds.ts";

/** While somebody types, the server is not asked for every letter. */
const PAUSE = 300;

/** Stands in the address, so that what one sees can be sent to somebody. */
const show = (filter: Filter): void => location.replace(addressOf(filter));

export function Filters({ filter }: { filter: Filter }) {
  const set = (part: Partial<Filter>): void => show({ ...filter, ...part });
  const products = [...new Set(status.value?.licenses.map(({ product }) => product))];
  // A product that is gone still stands in the record.
  if (filter.product !== "" && !products.includes(filter.product)) products.push(filter.product);
  return (
    <form
      class="filters"
      aria-label={record.filter.title}
      onSubmit={(event) => event.preventDefault()}
    >
      <Search filter={filter} set={set} />
      <Choice
        label={record.filter.kind}
        value={filter.kind}
        options={[
          ["", record.filter.all],
          ...KINDS.map((kind) => [kind, record.kinds[kind]] as const),
        ]}
        onChange={(kind) => set({ kind: kind as Filter["kind"] })}
      />
      <Choice
        label={record.filter.product}
        value={filter.product}
        options={[["", record.filter.anyProduct], ...products.map((one) => [one, one] as const)]}
        onChange={(product) => set({ product })}
      />
      <Day label={record.filter.from} value={filter.from} onChange={(from) => set({ from })} />
      <Day label={record.filter.to} value={filter.to} onChange={(to) => set({ to })} />
      <Narrowed filter={filter} />
    </form>
  );
}

interface SearchProps {
  readonly filter: Filter;
  readonly set: (part: Partial<Filter>) => void;
}

function Search({ filter, set }: SearchProps) {
  const id = useId();
  const typed = useSignal(filter.text);
  useEffect(() => {
    typed.value = filter.text;
  }, [filter.text]);
  useEffect(() => {
    if (typed.value === filter.text) return undefined;
    const later = setTimeout(() => set({ text: typed.value }), PAUSE);
    return () => clearTimeout(later);
  }, [typed.value]);
  return (
    <div class="field">
      <label for={id}>{record.filter.text}</label>
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

interface DayProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Day({ label, value, onChange }: DayProps) {
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
function Narrowed({ filter }: { filter: Filter }) {
  if (isEverything(filter)) return null;
  return (
    <p class="narrowed">
      {filter.user !== "" && <span>{record.filter.user(filter.user)}</span>}
      {filter.license !== "" && <span>{record.filter.license(filter.license)}</span>}
      <a class="button" href={linkTo("audit")}>
        {record.filter.clear}
      </a>
    </p>
  );
}
