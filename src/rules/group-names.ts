import { findNearest } from "../domain/text/nearest.ts";
import type { DefinedGroup } from "./read-groups.ts";
import type { FindingList } from "./rules-finding.ts";
import { quoteName } from "./table-reader.ts";

/** The groups of a file, and which of them its rules use. */
export class GroupNames {
  readonly #groups: ReadonlyMap<string, DefinedGroup>;
  readonly #used = new Set<string>();

  constructor(groups: ReadonlyMap<string, DefinedGroup>) {
    this.#groups = groups;
  }

  /** The group's name as it is defined; null: there is no such group, and a finding says so. */
  resolve(name: string, line: number, findings: FindingList): string | null {
    const normalized = name.normalize("NFC");
    if (this.#groups.has(normalized)) {
      this.#used.add(normalized);
      return normalized;
    }
    findings.error(line, `there is no group ${quoteName(normalized)}`, () =>
      this.#hintFor(normalized),
    );
    return null;
  }

  #hintFor(name: string): string {
    const nearest = findNearest(name, [...this.#groups.keys()]);
    return nearest === null
      ? `define it, for example [groups.${quoteKey(name)}] with users = ["ada"]`
      : `did you mean ${quoteName(nearest)}?`;
  }

  reportUnused(findings: FindingList): void {
    for (const { name, line } of this.#groups.values()) {
      if (this.#used.has(name)) continue;
      findings.warn(line, `no rule uses group ${quoteName(name)}`, "remove it, or check its name");
    }
  }
}

const quoteKey = (name: string): string => (/^[\w-]+$/.test(name) ? name : quoteName(name));
