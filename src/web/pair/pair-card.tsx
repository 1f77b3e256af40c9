import type { PairReply } from "../../http/routes/pair/pair-reply.ts";
import { admin, ApiError, unwrapReply } from "../api.ts";
import { CliCommands } from "../parts/cli-commands.tsx";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { Facts } from "../parts/facts.tsx";
import { formatNumber } from "../format.ts";
import { AccessTable, Owner } from "../access/access-table.tsx";
import { serverStatus } from "../status-stream.ts";
import { useQuery } from "../use-query.ts";
import { describeBehind, describeClock, describeSeen } from "./host-figures.ts";
import { pair as texts } from "./pair-texts.ts";

type Pair = NonNullable<PairReply["pair"]>;

const MAX_AGE = 2_000;

/** Both hosts of the pair, and the hand-over; nothing on a host that is alone. */
export function PairCard() {
  const isPair = serverStatus.value?.pair != null;
  return isPair ? <Hosts /> : null;
}

/** Read every few seconds while it is shown: the status does not follow each report of a host. */
function Hosts() {
  const { data } = useQuery((signal) => unwrapReply(admin.pair.get({ fetch: { signal } })), [], {
    maxAge: MAX_AGE,
  });
  const pair = data.value?.pair ?? serverStatus.value?.pair ?? null;
  if (pair === null) return null;
  return (
    <section class="card pair-card" aria-label={texts.title}>
      <h3>{texts.title}</h3>
      <p class="hint">{texts.about}</p>
      <HostTable pair={pair} />
      <Facts
        as="lines"
        facts={[
          [texts.database, describeDatabase(pair)],
          [texts.epoch, formatNumber(pair.epoch ?? 0)],
        ]}
      />
      <CliCommands commands={texts.commands} />
    </section>
  );
}

function describeDatabase({ database }: Pair): string {
  if (database === null) return texts.databaseUnknown;
  const { version, server, replication } = database;
  return `PostgreSQL ${version}, ${server}: ${texts.replication[replication]}`;
}

function HostTable({ pair }: { pair: Pair }) {
  const { columns } = texts;
  const rows = pair.hosts.map((host) => ({
    key: host.name,
    cells: [
      <Owner name={host.name} mark={host.name === pair.host ? texts.thisHost : null} />,
      host.role === null ? texts.noRole : texts.roles[host.role],
      describeSeen(host.seen_seconds_ago),
      describeBehind(host),
      describeClock(host.clock_ahead_seconds),
      host.version ?? texts.unknown,
      host.url ?? texts.unknown,
    ],
    actions: host.role === "standby" && pair.role === "leader" && <HandOver host={host.name} />,
  }));
  return (
    <AccessTable
      label={texts.title}
      columns={[
        columns.host,
        columns.role,
        columns.seen,
        columns.behind,
        columns.clock,
        columns.version,
        columns.address,
      ]}
      rows={rows}
      none={texts.none}
    />
  );
}

/** The reply may already come from a host on standby: then the other one leads. */
async function handOver(): Promise<void> {
  try {
    await unwrapReply(admin.pair["hand-over"].post({}));
  } catch (error) {
    if (!(error instanceof ApiError && error.code === "standby")) throw error;
  }
}

function HandOver({ host }: { host: string }) {
  const { act, label, title, text } = texts.handOver;
  return (
    <ConfirmButton
      kind="main"
      buttonKind="plain"
      actionLabel={act}
      label={label(host)}
      title={title(host)}
      onConfirm={handOver}
    >
      <p>{text(host)}</p>
    </ConfirmButton>
  );
}
