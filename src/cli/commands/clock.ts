import type { ClockReply } from "../../http/routes/clock.ts";
import { DONE, isSet, type Command, place } from "../command.ts";
import { option } from "../flags.ts";
import { readDocument } from "../input-document.ts";
import { reach } from "../reach.ts";
import { print, printJson, table } from "../terminal.ts";

const MEANS = {
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
    reach(place(given), async (call) => {
      const reply = (await call("GET", "/api/admin/v1/clock")) as ClockReply;
      const wrong = reply.state === "behind" || reply.state === "suspect";
      const asked = wrong
        ? ((await call("POST", "/api/admin/v1/clock/request")) as { code: string })
        : null;
      if (isSet(given, "json")) printJson({ ...reply, code: asked?.code ?? null });
      else print(text(reply, asked?.code ?? null));
      return DONE;
    }),
};

const accept: Command = {
  name: "clock accept",
  summary: "accept the system clock, however far ahead it is",
  options: [option.data, option.identity, option.config, option.json],
  run: (given) =>
    reach(place(given), async (call) => {
      const reply = (await call("POST", "/api/admin/v1/clock/accept")) as ClockReply;
      if (isSet(given, "json")) printJson(reply);
      else print(text(reply, null));
      return DONE;
    }),
};

const repair: Command = {
  name: "clock repair",
  summary: "set the appliance time back with the vendor's answer to the clock code",
  options: [option.data, option.identity, option.config, option.json],
  arguments: ["FILE"],
  run(given) {
    const license = readDocument(given.words[0], "time");
    return reach(place(given), async (call) => {
      const reply = (await call("POST", "/api/admin/v1/clock/repair", { license })) as ClockReply;
      if (isSet(given, "json")) printJson(reply);
      else print(text(reply, null));
      return DONE;
    });
  },
};

function text({ now, system_clock, state }: ClockReply, code: string | null): string {
  const facts = [
    ["appliance time", now],
    ["system clock", system_clock],
    ["state", MEANS[state]],
  ];
  if (code === null) return table(facts);
  const way =
    "to set the time back, read this code to your vendor and run berth clock repair with the answer";
  return `${table(facts)}\n\n${way}\n${code}`;
}

export const clockCommands: readonly Command[] = [show, accept, repair];
