import type { ClockReply } from "../../http/routes/clock.ts";
import { EXIT_OK, isFlagSet, type Command, getAdminTarget } from "../command.ts";
import { option } from "../flags.ts";
import { readDocument } from "../input-document.ts";
import { withAdminClient } from "../admin-client.ts";
import { print, printJson, formatTable } from "../terminal.ts";

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
  run: (given) =>
    withAdminClient(getAdminTarget(given), async (call) => {
      const reply = (await call("GET", "/api/admin/v1/clock")) as ClockReply;
      const wrong = reply.state === "behind" || reply.state === "suspect";
      const asked = wrong
        ? ((await call("POST", "/api/admin/v1/clock/request")) as { code: string })
        : null;
      if (isFlagSet(given, "json")) printJson({ ...reply, code: asked?.code ?? null });
      else print(text(reply, asked?.code ?? null));
      return EXIT_OK;
    }),
};

const accept: Command = {
  name: "clock accept",
  summary: "accept the system clock, however far ahead it is",
  options: [option.data, option.identity, option.config, option.json],
  run: (given) =>
    withAdminClient(getAdminTarget(given), async (call) => {
      const reply = (await call("POST", "/api/admin/v1/clock/accept")) as ClockReply;
      if (isFlagSet(given, "json")) printJson(reply);
      else print(text(reply, null));
      return EXIT_OK;
    }),
};

const repair: Command = {
  name: "clock repair",
  summary: "set the appliance time back with the vendor's answer to the clock code",
  options: [option.data, option.identity, option.config, option.json],
  arguments: ["FILE"],
  run(given) {
    const license = readDocument(given.positionals[0], "time");
    return withAdminClient(getAdminTarget(given), async (call) => {
      const reply = (await call("POST", "/api/admin/v1/clock/repair", { license })) as ClockReply;
      if (isFlagSet(given, "json")) printJson(reply);
      else print(text(reply, null));
      return EXIT_OK;
    });
  },
};

function text({ now, system_clock, state }: ClockReply, code: string | null): string {
  const facts = [
    ["appliance time", now],
    ["system clock", system_clock],
    ["state", STATE_TEXTS[state]],
  ];
  if (code === null) return formatTable(facts);
  const way =
    "to set the time back, read this code to your vendor and run berth clock repair with the answer";
  return `${formatTable(facts)}\n\n${way}\n${code}`;
}

export const clockCommands: readonly Command[] = [show, accept, repair];
