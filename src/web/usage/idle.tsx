import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ReportReply } from "../../http/routes/usage/report-schema.ts";
import { admin, ApiError, unwrapReply } from "../api.ts";
import { formatNumber, formatUtc } from "../format.ts";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { DataTable, type DataColumn } from "../parts/data-table.tsx";
import { Notice } from "../parts/notice.tsx";
import { Select } from "../parts/select.tsx";
import { Time } from "../parts/time.tsx";
import { linkTo } from "../router.ts";
import { reports } from "./reports-texts.ts";

const { idle: texts } = reports;

type Holder = ReportReply["idle"][number];

interface Props {
  readonly holders: readonly Holder[];
  readonly omitted: number;
  readonly idleDays: number;
  readonly onIdleDays: (days: number) => void;
  readonly refresh: () => Promise<void>;
}

const DAY_CHOICES = [1, 2, 3, 7, 14, 30, 90];

/** Who holds a slot without using it, with the way to the slot and to its release. */
export function Idle({ holders, omitted, idleDays, onIdleDays, refresh }: Props) {
  const released = useSignal("");
  // The message is about what was released here, not about other products.
  useEffect(() => () => void (released.value = ""), []);
  return (
    <section class="card">
      <header class="card-head">
        <h3>{texts.title}</h3>
        <Select
          label={texts.days}
          value={String(idleDays)}
          options={DAY_CHOICES.map((days) => [String(days), formatNumber(days)] as const)}
          onChange={(days) => onIdleDays(Number(days))}
        />
      </header>
      <p class="hint">{texts.explain(formatNumber(idleDays))}</p>
      {released.value !== "" && <Notice kind="good">{released.value}</Notice>}
      <DataTable
        name={texts.title}
        columns={
          holders.some(({ borrowed_until }) => borrowed_until !== null) ? ALL_COLUMNS : COLUMNS
        }
        rows={holders}
        keyOf={({ license_id, user }) => `${license_id} ${user}`}
        omitted={omitted}
        empty={texts.none(formatNumber(idleDays))}
        actions={(holder) => (
          <HolderActions
            holder={holder}
            onReleased={async () => {
              // Before the message: "released" must not stand beside the slot.
              await refresh();
              released.value = texts.released(holder.user, holder.product);
            }}
          />
        )}
      />
    </section>
  );
}

interface ActionProps {
  readonly holder: Holder;
  readonly onReleased: () => Promise<void>;
}

function HolderActions({ holder, onReleased }: ActionProps) {
  const { user, product } = holder;
  return (
    <div class="row">
      <a href={linkTo("slots", product, user)} aria-label={texts.showLabel(user, product)}>
        {texts.show}
      </a>
      <ConfirmButton
        actionLabel={texts.release}
        label={texts.releaseLabel(user, product)}
        title={texts.releaseTitle(user)}
        buttonKind="plain"
        onConfirm={async () => {
          await release(holder);
          await onReleased();
        }}
      >
        <p>{texts.releaseText(user, product)}</p>
        {holder.borrowed_until !== null && <Notice kind="warn">{texts.releaseBorrowed}</Notice>}
      </ConfirmButton>
    </div>
  );
}

const REFUSED = 400;

async function release({ user, product, license_id }: Holder): Promise<void> {
  const body = { product, license_id: String(license_id), users: user };
  const reply = await unwrapReply(admin.registrations.release.users.post(body));
  for (const { code, message } of reply.results) {
    if (code !== null && message !== null) throw new ApiError(code, message, REFUSED);
  }
}

const COLUMNS: readonly DataColumn<Holder>[] = [
  { title: texts.columns.person, value: ({ user }) => user },
  { title: texts.columns.product, value: ({ product }) => product },
  { title: texts.columns.host, value: ({ host }) => host },
  {
    title: texts.columns.since,
    value: ({ held_since }) => formatUtc(held_since),
    show: ({ held_since }) => <Time at={held_since} as="short" />,
  },
  {
    title: texts.columns.seen,
    value: ({ last_seen_at }) => formatUtc(last_seen_at),
    show: ({ last_seen_at }) => <Time at={last_seen_at} as="ago" />,
  },
  {
    title: texts.columns.used,
    value: ({ last_use_at }) => (last_use_at === null ? "" : formatUtc(last_use_at)),
    show: ({ last_use_at }) =>
      last_use_at === null ? texts.neverUsed : <Time at={last_use_at} as="short" />,
  },
  { title: texts.columns.idle, value: ({ idle_days }) => idle_days, isNumber: true },
];

const ALL_COLUMNS: readonly DataColumn<Holder>[] = [
  ...COLUMNS,
  {
    title: texts.columns.borrowed,
    value: ({ borrowed_until }) => (borrowed_until === null ? "" : formatUtc(borrowed_until)),
    show: ({ borrowed_until }) =>
      borrowed_until === null ? "" : <Time at={borrowed_until} as="short" />,
  },
];
