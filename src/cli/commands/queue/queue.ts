import type { QueueReply } from "../../../http/routes/queue/queue-schemas.ts";
import { setFields, unwrapReply, withAdminClient } from "../../client/admin-client.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { Misuse } from "../../frame/options.ts";
import { escapeToOneLine, formatList } from "../../frame/terminal.ts";
import { createTimeFormatter } from "../../frame/times.ts";

const list = defineCommand({
  name: "queue",
  summary: "list the users who wait for a slot",
  options: {
    ...siteOptions,
    product: option.productFilter,
    local: option.local,
    json: option.json,
  },
  examples: ["berth queue --product CAD", "berth queue --json"],
  async run({ product, ...options }, context) {
    const queue = await withAdminClient(options, context, ({ admin }) =>
      unwrapReply(admin.queue.get({ query: setFields({ product }) })),
    );
    return { json: queue, text: () => formatQueue(queue, createTimeFormatter(options)) };
  },
});

const placeOptions = { ...siteOptions, product: option.slotProduct, json: option.json } as const;

const front = defineCommand({
  name: "queue front",
  summary: "move a waiting user to the front of the queue",
  options: placeOptions,
  arguments: ["USER"],
  examples: ["berth queue front --product CAD ada"],
  async run({ product, ...options }, context) {
    const user = requireUser(context.args[0]);
    const place = await withAdminClient(options, context, ({ admin }) =>
      unwrapReply(admin.queue.front.post(setFields({ product, user }))),
    );
    return {
      json: place,
      text: escapeToOneLine(`${user} is at the front of the queue of ${place.product}`),
    };
  },
});

const drop = defineCommand({
  name: "queue drop",
  summary: "remove a waiting user from the queue",
  options: placeOptions,
  arguments: ["USER"],
  examples: ["berth queue drop --product CAD ada"],
  async run({ product, ...options }, context) {
    const user = requireUser(context.args[0]);
    const place = await withAdminClient(options, context, ({ admin }) =>
      unwrapReply(admin.queue.drop.post(setFields({ product, user }))),
    );
    const text = `${user} no longer waits for ${place.product}`;
    return { json: place, text: escapeToOneLine(text) };
  },
});

export const queueCommands = [list, front, drop];

function requireUser(user: string | undefined): string {
  if (user !== undefined) return user;
  throw new Misuse("USER is required", "berth queue lists the users who wait");
}

/** Why the place is before others: reserved slots of the user's group, or its priority. */
function formatGroups({ home, priority }: QueueReply["products"][number]["places"][number]) {
  const parts = [
    ...(home === null ? [] : [`${home} (reserved)`]),
    ...(priority === null ? [] : [`${priority} (priority)`]),
  ];
  return parts.length === 0 ? "-" : parts.join(", ");
}

function formatQueue({ products }: QueueReply, formatTime: (text: string) => string): string {
  const rows = products.flatMap(({ product, places }) =>
    places.map((place) => ({
      product,
      position: place.state === "held" ? "held" : place.position,
      user: place.user,
      group: formatGroups(place),
      since: formatTime(place.since),
      until: place.connected ? "connected" : formatTime(place.expires_at ?? "-"),
      "likely before": place.eta && formatTime(place.eta.p90),
      limit: place.limit ?? "",
    })),
  );
  return formatList(rows, "no user waits for a slot");
}
