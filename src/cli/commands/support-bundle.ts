import { resolve } from "node:path";
import { Misuse } from "../../platform/options.ts";
import { EXIT_OK, readOutputFlags, isFlagSet, type Command } from "../frame/command.ts";
import { confirm } from "../frame/confirm.ts";
import { option, serverSettings } from "../frame/flags.ts";
import { refuseToReplace } from "../files/output-file.ts";
import { collectEntries, writeBundle } from "../support/bundle.ts";
import { print, printJson, formatTable } from "../frame/terminal.ts";

export const supportBundleCommand: Command = {
  name: "support-bundle",
  summary:
    "collect diagnostic data without names, addresses and secrets; lists the files before writing",
  options: [...serverSettings, option.config, option.yes, option.json],
  arguments: ["FILE"],
  canRunWithInvalidSettings: true,
  examples: ["berth support-bundle /media/usb/berth-support.tar"],
  async run(flags) {
    const [file] = flags.positionals;
    if (file === undefined || file === "")
      throw new Misuse("FILE is required: a new tar file", "for example berth-support.tar");
    const out = resolve(file);
    // Checked again when it is written, because collecting takes time.
    refuseToReplace(out);
    const entries = await collectEntries(flags);
    const sizes = entries.map(({ name, description, text }) => ({
      name,
      description,
      bytes: Buffer.byteLength(text),
    }));
    if (!isFlagSet(flags, "json")) {
      print(
        formatTable(
          sizes.map(({ name, bytes, description }) => [`  ${name}`, `${bytes} bytes`, description]),
        ),
      );
    }
    await confirm(readOutputFlags(flags), `write these files to ${out}?`);
    await writeBundle(out, entries);
    if (isFlagSet(flags, "json")) printJson({ path: out, entries: sizes });
    else
      print(`\n${out} is written; unpack it with tar -xf. Names and addresses in it are replaced.`);
    return EXIT_OK;
  },
};
