import type { ReleaseUsersReply } from "../../../http/routes/slots/registrations-release.ts";
import {
  setFields,
  unwrapReply,
  withAdminClient,
  type AdminClient,
} from "../../client/admin-client.ts";
import { EXIT_FAILURE, EXIT_OK } from "../../frame/command.ts";
import { checkConfirmable, confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { Misuse } from "../../frame/options.ts";
import type { JsonOutcome } from "../../frame/outcome.ts";
import { escapeToOneLine } from "../../frame/terminal.ts";

const options = {
  ...siteOptions,
  product: option.slotProduct,
  users: option.usersToRelease,
  all: option.releaseAll,
  yes: option.yes,
  json: option.json,
} as const;

export const releaseCommand = defineCommand({
  name: "release",
  isCommon: true,
  summary: "release the slots of users, or all slots of a product",
  options,
  examples: [
    "berth release --product CAD --user ada",
    "berth release --product CAD --user ada --user bob",
    "berth release --product CAD --all --yes",
  ],
  run(values, context) {
    const { product, users, all, yes } = values;
    const [user] = users;
    if (all) {
      if (user !== undefined) throw new Misuse("--all and --user exclude each other", USERS_HINT);
      if (product === null) throw new Misuse("--all requires --product", USERS_HINT);
      checkConfirmable({ yes });
      return withAdminClient(values, context, (client) => releaseAll(client, product, yes));
    }
    if (user === undefined) throw new Misuse("--user is required", USERS_HINT);
    return withAdminClient(values, context, (client) =>
      users.length === 1
        ? releaseOne(client, product, user)
        : releaseSeveral(client, product, users),
    );
  },
});

const USERS_HINT = "berth slots lists the slots in use";

async function releaseOne(
  { admin }: AdminClient,
  product: string | null,
  user: string,
): Promise<JsonOutcome> {
  const reply = await unwrapReply(admin.registrations.release.post(setFields({ product, user })));
  return { json: reply, text: escapeToOneLine(`the slot of ${user} is released`) };
}

/** With the longest names, so many fit into the body of one request. */
const USERS_PER_REQUEST = 200;

async function releaseSeveral(
  { admin }: AdminClient,
  product: string | null,
  users: readonly string[],
): Promise<JsonOutcome> {
  const results: ReleaseUsersReply["results"] = [];
  for (let first = 0; first < users.length; first += USERS_PER_REQUEST) {
    const some = users.slice(first, first + USERS_PER_REQUEST);
    const reply = await unwrapReply(
      admin.registrations.release.users.post(setFields({ product, users: some.join("\n") })),
    );
    results.push(...reply.results);
  }
  const released = results.reduce((sum, result) => sum + result.released, 0);
  const refused = results.filter(({ code }) => code !== null);
  return {
    json: { released, results },
    text: results
      .filter(({ code }) => code === null)
      .map(({ user }) => escapeToOneLine(`the slot of ${user} is released`)),
    errors: refused.map(({ user, code, message }) =>
      escapeToOneLine(`the slot of ${user} is not released: ${message} (${code})`),
    ),
    exitCode: refused.length > 0 ? EXIT_FAILURE : EXIT_OK,
  };
}

async function releaseAll(
  { admin }: AdminClient,
  product: string,
  yes: boolean,
): Promise<JsonOutcome> {
  const slots = await unwrapReply(admin.registrations.get({ query: { product } }));
  const borrowed = slots.filter(({ borrowed_until }) => borrowed_until !== null).length;
  const also = borrowed === 0 ? "" : `, ${borrowed} of them borrowed`;
  const question = `all slots of ${product} will be released: ${slots.length} in use${also}; continue?`;
  await confirm({ yes }, escapeToOneLine(question));
  const reply = await unwrapReply(admin.registrations.release.all.post({ product }));
  const { released, remaining } = reply;
  const stillInUse =
    remaining === 0
      ? ""
      : `; ${remaining} still in use: borrowed, and the license allows no early return`;
  return {
    json: reply,
    text: escapeToOneLine(`${released} slots of ${product} released${stillInUse}`),
  };
}
