import { join } from "node:path";
import type { TermsChanges } from "../../license/terms/terms-changes.ts";
import { realDisk } from "../../platform/files/disk.ts";
import { Misuse } from "../frame/options.ts";
import { readTermsFile } from "./terms-file.ts";

const FOLDER = "presets";

/** Terms that are sold often: a file of terms in the desk's folder. */
export function readPreset(dir: string, name: string): TermsChanges {
  const folder = join(dir, FOLDER);
  if (!/^[\p{L}\p{N}][\p{L}\p{N}._ -]{0,99}$/u.test(name))
    throw new Misuse(
      `${JSON.stringify(name)} is no name of a preset`,
      "for example --preset cad-10",
    );
  const path = join(folder, `${name}.json`);
  if (realDisk.stat(path) === null) {
    const known = listPresets(folder);
    throw new Misuse(
      `there is no preset ${name}: ${path} does not exist`,
      known.length === 0
        ? "berth vendor terms prints terms to begin with"
        : `the presets are ${known.join(", ")}`,
    );
  }
  const terms = readTermsFile(path);
  const member = (["license_key", "customer"] as const).find((name) => terms[name] != null);
  if (member === undefined) return terms;
  throw new Misuse(
    `${path} has ${member}, but a preset is for many orders`,
    `remove ${member} from it`,
  );
}

const listPresets = (folder: string): string[] =>
  realDisk.stat(folder) === null
    ? []
    : realDisk
        .list(folder)
        .filter((file) => file.endsWith(".json"))
        .map((file) => file.slice(0, -".json".length))
        .toSorted();
