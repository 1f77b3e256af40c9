import { DONE, isSet, type Command } from "../command.ts";
import { option } from "../flags.ts";
import { openDeskRecords } from "../open-desk.ts";
import { print, printJson, table } from "../terminal.ts";

export const listCommand: Command = {
  name: "vendor list",
  everyday: true,
  summary: "what this desk issued",
  options: [option.dir, option.json],
  async run(given) {
    const issued = (await openDeskRecords(given)).ledger.issued();
    if (isSet(given, "json")) printJson(issued);
    else if (issued.length === 0) print("nothing was issued yet");
    else {
      const rows = issued.map(({ license_id, serial, appliance, terms, at }) => [
        String(license_id),
        String(serial),
        terms.product,
        terms.license_key ?? "-",
        appliance,
        at,
      ]);
      print(table([["LICENSE", "SERIAL", "PRODUCT", "KEY", "APPLIANCE", "ISSUED"], ...rows]));
    }
    return DONE;
  },
};
