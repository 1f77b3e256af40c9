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
  const facts = formatTable([
    ["name", desk.name],
    ["vendor", desk.vendor],
    ["fingerprint", desk.fingerprint],
    ["public key", desk.public_key],
    ["products", desk.products.join(", ")],
    ["trust.jwt", `version ${desk.version}`],
    [
      "passphrase",
      desk.encrypted ? "set" : "none: anyone who can read the key file can sign licenses",
    ],
    ["licenses", states.length === 0 ? "none" : states.join(", ")],
  ]);
  const rows = [
    ...desk.keys.map(({ key, state, since, until }) => ({
      key,
      state,
      since: since.slice(0, 10),
      until: until.slice(0, 10),
    })),
    ...desk.uncertified.map((key) => {
      const state = desk.retired.includes(key) ? "retired" : "not certified";
      return { key, state, since: "-", until: "-" };
    }),
  ];
  const keys = `\n${formatList(rows, "no key")}`;
  const reissue = desk.to_reissue.length;
  if (reissue === 0) return [facts, keys];
  const list = `berth vendor list ${formatDirFlag(dir)} --to-reissue`;
  return [facts, keys, `\n${formatCount(reissue, "license")} to be issued again: ${list}`];
}
