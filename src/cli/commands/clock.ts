import type { ClockReply } from "../../http/routes/clock.ts";
import { DONE, isSet, type Command, place } from "../command.ts";
import { option } from "../flags.ts";
import { readDocument } from "../input-document.ts";
import { reach } from "../reach.ts";
import { print, printJson, table } from "../terminal.ts";

const MEANS = {
  ok: "the system's clock is followed",
  ahead:
    "the system's clock is far ahead and not believed yet; berth clock accept says it is right",
  behind: "the system's clock is behind; time goes on from what is on record",
  suspect: "the system's clock is a day or more behind: slots with an end are not lent anew",
};

const show: Command = {
  name: "clock",
  summary: "what time it thinks it is, and the ways out when the clock is wrong",
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
  summary: "the system's clock is right, however far ahead",
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
  summary: "set time back by the vendor's answer to the code",
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
    ["time here", now],
    ["system clock", system_clock],
    ["which means", MEANS[state]],
  ];
  if (code === null) return table(facts);
  const way =
    "to set time back, read this code to your vendor and bring the answer to berth clock repair";
  return `${table(facts)}\n\n${way}\n${code}`;
}

export const clockCommands: readonly Command[] = [show, accept, repair];
