import { useSignal } from "@preact/signals";
import type { QueueReply } from "../../http/routes/queue/queue-schemas.ts";
import { admin, unwrapReply } from "../api.ts";
import { formatNumber, formatShort } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { CliCommands } from "../parts/cli-commands.tsx";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { DataTable, type DataColumn } from "../parts/data-table.tsx";
import { EmptyState } from "../parts/empty-state.tsx";
import { Notice } from "../parts/notice.tsx";
import { QueryContent } from "../parts/query-content.tsx";
import { Select } from "../parts/select.tsx";
import { Time, TimeZoneNote } from "../parts/time.tsx";
import { currentRoute, linkTo, navigateTo } from "../router.ts";
import { canChange } from "../session.ts";
import { serverStatus } from "../status-stream.ts";
import { useQuery } from "../use-query.ts";
import { queue as texts } from "./queue-texts.ts";
import { SlotTabs } from "./slot-tabs.tsx";

type ProductQueue = QueueReply["products"][number];
type Place = ProductQueue["places"][number];

/** A change of the queue is shown soon; a reply with thousands of places is read less often. */
const minInterval = (readTime: number): number => Math.max(500, 20 * readTime);
/** Times such as "2 min ago" and estimates get old. */
const MAX_AGE = 15_000;

/** The users who wait for a slot, beside the slots in use. */
export function Queue() {
  const product = currentRoute.value.params[0] ?? "";
  const outcome = useSignal("");
  const query = useQuery(
    (signal) =>
      unwrapReply(admin.queue.get({ query: product === "" ? {} : { product }, fetch: { signal } })),
    [product],
    {
      watch: () => serverStatus.value?.queue.changes,
      minInterval,
      maxAge: ({ products }) => (products.length === 0 ? null : MAX_AGE),
    },
  );
  return (
    <div class="queue-view">
      <h2>{texts.title}</h2>
      <SlotTabs />
      <div class="queue-tools">
        <ProductSelect selected={product} />
        <TimeZoneNote />
      </div>
      {outcome.value !== "" && <Notice kind="good">{outcome.value}</Notice>}
      <div class="stack">
        <QueryContent query={query}>
          {({ products }, refresh) =>
            products.length === 0 ? (
              <NoPlaces product={product} />
            ) : (
              <>
                <p class="muted">{texts.about}</p>
                {products.map((one) => (
                  <ProductCard
                    key={one.product}
                    queue={one}
                    onChanged={(text) => {
                      outcome.value = text;
                      return refresh();
                    }}
                  />
                ))}
              </>
            )
          }
        </QueryContent>
      </div>
      <CliCommands commands={texts.commands} />
    </div>
  );
}

function ProductSelect({ selected }: { selected: string }) {
  const licensed = serverStatus.value?.licenses.map(({ product }) => product) ?? [];
  const products = [...new Set([...licensed, selected].filter(Boolean))];
  return (
    <Select
      label={texts.product}
      value={selected}
      options={[["", texts.allProducts], ...products.map((name) => [name, name] as const)]}
      onChange={(name) => (name === "" ? navigateTo("queue") : navigateTo("queue", name))}
    />
  );
}

/** Says what a queue is, and how an application waits. */
const NoPlaces = ({ product }: { product: string }) => (
  <EmptyState
    title={product === "" ? texts.none.title : texts.none.ofProduct(product)}
    text={texts.none.text}
  >
    <p class="muted">
      {texts.none.run} <code>{texts.none.command}</code>
    </p>
  </EmptyState>
);

interface CardProps {
  readonly queue: ProductQueue;
  /** Shows what was done, and reads the queue again. */
  readonly onChanged: (text: string) => Promise<void>;
}

const ProductCard = ({ queue, onChanged }: CardProps) => {
  const { product, waiting, held: holds, places } = queue;
  return (
    <section class="card product-queue">
      <header class="card-head">
        <h3>
          <a href={linkTo("slots", product)}>{product}</a>
        </h3>
        <p>{texts.summary(waiting, formatNumber(waiting), holds, formatNumber(holds))}</p>
      </header>
      <DataTable
        name={texts.table(product)}
        columns={places.some((place) => groupText(place) !== "") ? COLUMNS : WITHOUT_GROUP}
        rows={places}
        keyOf={({ user }) => user}
        firstRows={50}
        empty={texts.none.ofProduct(product)}
        {...(canChange.value && {
          actions: (place: Place) => (
            <PlaceActions product={product} place={place} onChanged={onChanged} />
          ),
        })}
      />
      <p class="hint">{texts.holdSeconds(formatNumber(queue.hold_seconds))}</p>
    </section>
  );
};

interface ActionsProps {
  readonly product: string;
  readonly place: Place;
  readonly onChanged: (text: string) => Promise<void>;
}

function PlaceActions({ product, place: { user, position, state }, onChanged }: ActionsProps) {
  const { front, drop } = texts;
  const moveToFront = async (): Promise<void> => {
    await unwrapReply(admin.queue.front.post({ product, user }));
    await onChanged(front.done(user, product));
  };
  const remove = async (): Promise<void> => {
    await unwrapReply(admin.queue.drop.post({ product, user }));
    await onChanged(drop.done(user, product));
  };
  return (
    <div class="row">
      {position > 1 && state !== "held" && (
        <Button label={front.label(user, product)} onClick={moveToFront}>
          {front.act}
        </Button>
      )}
      <ConfirmButton
        actionLabel={drop.act}
        label={drop.label(user, product)}
        title={drop.title(user)}
        buttonKind="plain"
        onConfirm={remove}
      >
        <p>{drop.text}</p>
      </ConfirmButton>
    </div>
  );
}

/** Why a place is where it is: its reserved slots, or its priority. */
function groupText({ home, priority }: Place): string {
  if (home !== null && home === priority) return texts.homeAndPriority(home);
  const parts = [
    home === null ? "" : texts.home(home),
    priority === null ? "" : texts.priority(priority),
  ];
  return parts.filter(Boolean).join("; ");
}

const { columns } = texts;

const COLUMNS: readonly DataColumn<Place>[] = [
  {
    title: columns.user,
    value: ({ user }) => user,
    show: ({ user }) => (
      <a href={linkTo("audit", `user=${user}`)} aria-label={texts.history(user)}>
        {user}
      </a>
    ),
  },
  {
    title: columns.position,
    value: ({ position, state }) => (state === "held" ? null : position),
    isNumber: true,
  },
  {
    title: columns.state,
    value: ({ state, limit }) => limit ?? texts.states[state],
    show: ({ state, limit }) => (
      <span class={state === "held" ? "good" : limit === null ? "" : "limit"}>
        {texts.states[state]}
        {limit !== null && `: ${limit}`}
      </span>
    ),
  },
  {
    title: columns.since,
    csvTitle: columns.sinceUtc,
    value: ({ since }) => since,
    show: ({ since }) => <Time at={since} as="ago" />,
  },
  { title: columns.p50, value: ({ eta }) => eta?.p50 ?? null, isFileOnly: true },
  { title: columns.p90, value: ({ eta }) => eta?.p90 ?? null, isFileOnly: true },
  {
    title: columns.expected,
    value: ({ eta }) => eta?.p50 ?? null,
    show: ({ eta, state }) =>
      eta === null ? (
        state === "held" ? undefined : (
          <span class="when">{texts.unknown}</span>
        )
      ) : (
        texts.expected(formatShort(eta.p50), formatShort(eta.p90))
      ),
  },
  { title: columns.group, value: groupText },
  {
    title: columns.expires,
    csvTitle: columns.expiresUtc,
    value: ({ expires_at: at }) => at,
    show: ({ expires_at: at, connected }) =>
      at === null || connected ? texts.connected : <Time at={at} as="clock" />,
  },
];

const WITHOUT_GROUP = COLUMNS.filter(({ title }) => title !== columns.group);
