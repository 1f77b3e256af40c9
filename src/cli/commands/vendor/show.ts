import { wallClock } from "../../../platform/clock.ts";
import { realDisk } from "../../../platform/disk.ts";
import { describeDesk } from "../../../desk/desk-overview.ts";
import { EXIT_OK, isFlagSet, type Command } from "../../frame/command.ts";
import { option } from "../../frame/flags.ts";
import { getDeskFolder, deskFolderFlag, formatDirFlag } from "../../vendor/open-desk.ts";
import { formatCount, print, printJson, printWarning, formatTable } from "../../frame/terminal.ts";

export const showCommand: Command = {
  name: "vendor show",
  isCommon: true,
  summary: "show the desk's fingerprint, keys, products and licenses; needs no passphrase",
  options: [deskFolderFlag, option.json],
  examples: ["berth vendor show --dir desk"],
  async run(flags) {
    const { notes, ...shown } = await describeDesk(realDisk, getDeskFolder(flags), wallClock());
    for (const note of notes) printWarning(note);
    if (isFlagSet(flags, "json")) {
      printJson(shown);
      return EXIT_OK;
    }
    const states = Object.entries(shown.licenses).map(([state, number]) => `${number} ${state}`);
    print(
      formatTable([
        ["name", shown.name],
        ["vendor", shown.vendor],
        ["fingerprint", shown.fingerprint],
        ["products", shown.products.join(", ")],
        ["distribute", shown.documents.join(", then ")],
        [
          "passphrase",
          shown.encrypted ? "set" : "none: anyone who can read the key file can sign licenses",
        ],
        ["licenses", states.length === 0 ? "none" : states.join(", ")],
      ]),
    );
    const rows = shown.keys.map(({ key, fingerprint, current_since, state, retired_from }) => [
      key,
      fingerprint,
      key === shown.vendor ? "the desk was created" : (current_since ?? "unknown"),
      retired_from == null ? state : `${state} from ${retired_from}`,
    ]);
    print(`\n${formatTable([["KEY", "FINGERPRINT", "SINCE", "STATE"], ...rows])}`);
    const reissue = shown.to_reissue.length;
    if (reissue > 0) {
      const list = `berth vendor list ${formatDirFlag(getDeskFolder(flags))} --to-reissue`;
      print(`\n${formatCount(reissue, "license")} to be re-issued: ${list}`);
    }
    return EXIT_OK;
  },
};
