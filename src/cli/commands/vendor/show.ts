import { wallClock } from "../../../platform/clock.ts";
import { realDisk } from "../../../platform/files/disk.ts";
import { describeAcceptedSplit } from "../../../desk/issuing/pair-continuity.ts";
import { describeDesk } from "../../../desk/desk-overview.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { formatDirFlag } from "../../vendor/open-desk.ts";
import { formatCount, formatList, formatTable } from "../../frame/terminal.ts";

export const showCommand = defineCommand({
  name: "vendor show",
  isCommon: true,
  summary: "show the desk's fingerprint, keys, products and licenses; needs no passphrase",
  options: { dir: option.deskFolder, json: option.json },
  examples: ["berth vendor show --dir desk"],
  async run({ dir }) {
    const { notes, ...shown } = await describeDesk(realDisk, dir, wallClock());
    const warnings = [...notes, ...shown.splits.map(describeAcceptedSplit)];
    return { json: shown, warnings, text: () => formatDesk(shown, dir) };
  },
});

type DeskOverview = Omit<Awaited<ReturnType<typeof describeDesk>>, "notes">;

function formatDesk(desk: DeskOverview, dir: string): string[] {
  const states = Object.entries(desk.licenses).map(([state, number]) => `${number} ${state}`);
  // An application must not accept a key that was retired: it may be stolen.
  const usable = desk.keys.filter(({ state }) => state !== "retired");
  const facts = formatTable([
    ["name", desk.name],
    ["vendor", desk.vendor],
    ["fingerprint", desk.fingerprint],
    ["public key", usable.map(({ public_key }) => public_key).join(", ")],
    ["products", desk.products.join(", ")],
    ["distribute", desk.documents.join(", then ")],
    [
      "passphrase",
      desk.encrypted ? "set" : "none: anyone who can read the key file can sign licenses",
    ],
    ["licenses", states.length === 0 ? "none" : states.join(", ")],
  ]);
  const rows = desk.keys.map(({ key, fingerprint, current_since, state, retired_from }) => ({
    key,
    fingerprint,
    since: key === desk.vendor ? "the desk was created" : (current_since ?? "unknown"),
    state: retired_from == null ? state : `${state} from ${retired_from}`,
  }));
  const keys = `\n${formatList(rows)}`;
  const reissue = desk.to_reissue.length;
  if (reissue === 0) return [facts, keys];
  const list = `berth vendor list ${formatDirFlag(dir)} --to-reissue`;
  return [facts, keys, `\n${formatCount(reissue, "license")} to be re-issued: ${list}`];
}
