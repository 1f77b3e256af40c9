import { resolve } from "node:path";
import { Misuse } from "../../frame/options.ts";
import { refuseToReplace } from "../../files/output-file.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { formatTable } from "../../frame/terminal.ts";
import { settings } from "../../serve/settings.ts";
import { collectEntries, writeBundle } from "../../support/bundle.ts";

export const supportBundleCommand = defineCommand({
  name: "support-bundle",
  summary:
    "collect diagnostic data without names, addresses and secrets; lists the files before writing",
  options: { ...settings, config: option.config, yes: option.yes, json: option.json },
  hasSettingsOf: "serve",
  arguments: ["FILE"],
  canRunWithInvalidSettings: true,
  examples: ["berth support-bundle /media/usb/berth-support.tar"],
  async run({ config, yes, ...settings }, context) {
    const [file] = context.args;
    if (file === undefined || file === "")
      throw new Misuse("FILE is required: a new tar file", "for example berth-support.tar");
    const out = resolve(file);
    // Checked again when it is written, because collecting takes time.
    refuseToReplace(out);
    const entries = await collectEntries({ ...context, config, settings });
    const sizes = entries.map(({ name, description, text }) => ({
      name,
      description,
      bytes: Buffer.byteLength(text),
    }));
    context.show(
      formatTable(
        sizes.map(({ name, bytes, description }) => [`  ${name}`, `${bytes} bytes`, description]),
      ),
    );
    await confirm({ yes }, `write these files to ${out}?`);
    await writeBundle(out, entries);
    return {
      json: { path: out, entries: sizes },
      text: `\n${out} is written; unpack it with tar -xf. Names and addresses in it are replaced.`,
    };
  },
});
