import type { ClockReply } from "../../../http/routes/clock/clock.ts";
import { unwrapReply, withAdminClient } from "../../client/admin-client.ts";
import { readDocument } from "../../files/input-document.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { formatTable } from "../../frame/terminal.ts";

const STATE_TEXTS = {
  ok: "the system clock is used",
  ahead: "the system clock is far ahead and not accepted yet; if it is right: berth clock accept",
  behind: "the system clock is behind; the appliance time continues from the last recorded time",
  suspect: "the system clock is a day or more behind: licenses with an end date grant no new slots",
};

const options = { ...siteOptions, json: option.json };

const show = defineCommand({
  name: "clock",
  summary: "show the appliance time and what to do if the clock is wrong",
  options,
  run: (site, context) =>
    withAdminClient(site, context, async ({ admin }) => {
      const reply = await unwrapReply(admin.clock.get());
      const isBehind = reply.state === "behind" || reply.state === "suspect";
      const code = isBehind ? (await unwrapReply(admin.clock.request.post())).code : null;
      return { json: { ...reply, code }, text: formatClock(reply, code) };
    }),
});

const accept = defineCommand({
  name: "clock accept",
  summary: "accept the system clock, however far ahead it is",
  options,
  run: (site, context) =>
    withAdminClient(site, context, async ({ admin }) => {
      const reply = await unwrapReply(admin.clock.accept.post());
      return { json: reply, text: formatClock(reply, null) };
    }),
});

const repair = defineCommand({
  name: "clock repair",
  summary: "set the appliance time back with the vendor's answer to the clock code",
  options,
  arguments: ["FILE"],
  run(site, context) {
    const license = readDocument(context.args[0], "time");
    return withAdminClient(site, context, async ({ admin }) => {
      const reply = await unwrapReply(admin.clock.repair.post({ license }));
      return { json: reply, text: formatClock(reply, null) };
    });
  },
});

function formatClock({ now, system_clock, state }: ClockReply, code: string | null): string {
  const facts = [
    ["appliance time", now],
    ["system clock", system_clock],
    ["state", STATE_TEXTS[state]],
  ];
  if (code === null) return formatTable(facts);
  const instructions =
    "to set the time back, read this code to your vendor and run berth clock repair with the answer";
  return `${formatTable(facts)}\n\n${instructions}\n${code}`;
}

export const clockCommands = [show, accept, repair];
