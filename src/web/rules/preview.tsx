import type { RulesCheckReply } from "../../http/reply/rules.ts";
import { formatNumber } from "../format.ts";
import { DataTable, type DataColumn } from "../parts/data-table.tsx";
import { preview as texts } from "./preview-texts.ts";
import { isAffected, poolName, type PoolPreview } from "./preview-pools.ts";

interface Props {
  readonly pools: NonNullable<RulesCheckReply["preview"]>;
}

/** What the rules would change for users who hold or wait for a slot now. */
export function Preview({ pools }: Props) {
  const affected = pools.filter(isAffected);
  return (
    <section class="card rules-preview">
      <h3>{texts.title}</h3>
      <p class="muted">{texts.about}</p>
      <DataTable
        name={texts.table}
        columns={COLUMNS}
        rows={pools}
        keyOf={poolName}
        firstRows={20}
        canSave={false}
        empty={texts.noPools}
      />
      {pools.length > 0 && affected.length === 0 && <p>{texts.noneAffected}</p>}
      {affected.map((pool) => (
        <AffectedUsers key={poolName(pool)} pool={pool} />
      ))}
    </section>
  );
}

const { columns } = texts;

/** A number that the rules change is shown as "before → after". */
const change = (before: number, after: number): string =>
  before === after ? formatNumber(after) : texts.change(formatNumber(before), formatNumber(after));

const COLUMNS: readonly DataColumn<PoolPreview>[] = [
  { title: columns.pool, value: poolName },
  {
    title: columns.inUse,
    value: (pool) => texts.ofAll(formatNumber(pool.slots_in_use), formatNumber(pool.slots)),
    isNumber: true,
  },
  {
    title: columns.reserved,
    value: ({ before, after }) => change(before.reserved, after.reserved),
    isNumber: true,
  },
  {
    title: columns.available,
    value: ({ before, after }) => change(before.available, after.available),
    isNumber: true,
  },
];

const AffectedUsers = ({ pool }: { pool: PoolPreview }) => (
  <div class="affected">
    <h4>{poolName(pool)}</h4>
    <Names
      title={texts.denied(pool.denied_total)}
      total={pool.denied_total}
      names={pool.denied.map((entry) => texts.deniedUser(entry))}
    />
    <Names
      title={texts.overLimit(pool.over_limit_total)}
      total={pool.over_limit_total}
      names={pool.over_limit.map((entry) => texts.limited(entry))}
    />
    <Names
      title={texts.deniedWaiting(pool.denied_waiting_total)}
      total={pool.denied_waiting_total}
      names={pool.denied_waiting.map((entry) => texts.deniedUser(entry))}
    />
  </div>
);

interface NamesProps {
  readonly title: string;
  readonly total: number;
  readonly names: readonly string[];
}

/** A few names are shown at once, more on request. */
const MAX_OPEN = 5;

function Names({ title, total, names }: NamesProps) {
  if (total === 0) return null;
  return (
    <details open={names.length <= MAX_OPEN}>
      <summary>{title}</summary>
      <ul>
        {names.map((name) => (
          <li key={name}>{name}</li>
        ))}
        {total > names.length && <li>{texts.more(formatNumber(total - names.length))}</li>}
      </ul>
    </details>
  );
}
