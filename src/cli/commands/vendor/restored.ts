import { beginRestored, endRestored } from "../../../desk/orders/unknown-licenses.ts";
import { wallClock } from "../../../platform/clock.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { Misuse, text } from "../../frame/options.ts";
import { escapeToOneLine } from "../../frame/terminal.ts";
import { openDeskRecords } from "../../vendor/open-desk.ts";

export const restoredCommand = defineCommand({
  name: "vendor restored",
  summary: "show whether the ledger may lack licenses that the desk issued, or end that state",
  options: {
    dir: option.deskFolder,
    begin: text("--begin REASON", "begin the state: the ledger lacks what the desk issued"),
    end: text("--end REASON", "end the state: new appliances are answered automatically again"),
    yes: option.yes,
    json: option.json,
  },
  examples: [
    "berth vendor restored --dir desk",
    'berth vendor restored --dir desk --end "the lost week was entered again"',
  ],
  async run(options) {
    const records = await openDeskRecords(options.dir);
    const state = records.ledger.orders.restored;
    if (options.begin !== null && options.end !== null)
      throw new Misuse("--begin and --end cannot be combined", "use only one of them");
    if (options.begin !== null && state === null) {
      await beginRestored(records, options.begin, wallClock());
      const began = records.ledger.orders.restored;
      return {
        json: { restored: true, since: began?.at ?? null, cause: options.begin },
        text: "only appliances that hold an order are answered automatically from now on",
      };
    }
    const json = {
      restored: state !== null,
      since: state?.at ?? null,
      cause: state?.cause ?? null,
    };
    if (state === null) return { json, text: "nothing shows that the ledger lacks a license" };
    const since = `since ${state.at.slice(0, 10)}: ${escapeToOneLine(state.cause)}`;
    if (options.end === null) {
      return {
        json,
        text: `only appliances that hold an order are answered automatically, ${since}`,
        notes: [
          ...(options.begin === null ? [] : ["the state has begun before; nothing was recorded"]),
          "--end REASON ends this state",
        ],
      };
    }
    await confirm(options, `answer new appliances automatically again? (${since})`);
    await endRestored(records, options.end, wallClock());
    return {
      json: { restored: false, since: null, cause: null },
      text: "new appliances are answered automatically again, where their orders say so",
    };
  },
});
