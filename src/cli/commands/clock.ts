import type { ClockReply } from "../../http/routes/clock.ts";
import { EXIT_OK, isFlagSet, type Command, getAdminTarget } from "../frame/command.ts";
import { option } from "../frame/flags.ts";
import { readDocument } from "../files/input-document.ts";
import { withAdminClient } from "../client/admin-client.ts";
import { print, printJson, formatTable } from "../frame/terminal.ts";

const STATE_TEXTS = {
  ok: "the system clock is used",
  ahead: "the system clock is far ahead and not accepted yet; if it is right: berth clock accept",
  behind: "the system clock is behind; the appliance time continues from the last recorded time",
  suspect: "the system clock is a day or more behind: licenses with an end date grant no new slots",
};

const show: Command = {
  name: "clock",
  summary: "show the appliance time and what to do if the clock is wrong",
  options: [option.data, option.identity, option.config, option.json],
  run: (flags) =>
    withAdminClient(getAdminTarget(flags), async (call) => {
      const reply = (await call("GET", "/api/admin/v1/clock")) as ClockReply;
      const isBehind = reply.state === "behind" || reply.state === "suspect";
      const request = isBehind
        ? ((await call("POST", "/api/admin/v1/clock/request")) as { code: string })
        : null;
      if (isFlagSet(flags, "json")) printJson({ ...reply, code: request?.code ?? null });
      else print(formatClock(reply, request?.code ?? null));
      return EXIT_OK;
    }),
};

const accept: Command = {
  name: "clock accept",
  summary: "accept the system clock, however far ahead it is",
  options: [option.data, option.identity, option.config, option.json],
  run: (flags) =>
    withAdminClient(getAdminTarget(flags), async (call) => {
      const reply = (await call("POST", "/api/admin/v1/clock/accept")) as ClockReply;
      if (isFlagSet(flags, "json")) printJson(reply);
      else print(formatClock(reply, null));
      return EXIT_OK;
    }),
};

const repair: Command = {
  name: "clock repair",
  summary: "set the appliance time back with the vendor's answer to the clock code",
  options: [option.data, option.identity, option.config, option.json],
  arguments: ["FILE"],
  run(flags) {
    const license = readDocument(flags.positionals[0], "time");
    return withAdminClient(getAdminTarget(flags), async (call) => {
      const reply = (await call("POST", "/api/admin/v1/clock/repair", { license })) as ClockReply;
      if (isFlagSet(flags, "json")) printJson(reply);
      else print(formatClock(reply, null));
      return EXIT_OK;
    });
  },
};

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

export const clockCommands: readonly Command[] = [show, accept, repair];
