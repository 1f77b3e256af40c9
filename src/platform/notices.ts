import { join } from "node:path";

/** A third-party component of the executable, with its license. */
export interface Notice {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly text: string;
}

export interface Notices {
  readonly runtime: Notice;
  readonly packages: readonly Notice[];
}

/** JSON of the notices, set by the build; undefined when run from the sources. */
declare const BERTH_NOTICES: string | undefined;

/** When run from the sources, creates the notices as the build does. */
export function readNotices(): Notices {
  if (typeof BERTH_NOTICES === "string") return JSON.parse(BERTH_NOTICES) as Notices;
  const script = join(import.meta.dir, "..", "..", "build", "notices.ts");
  const child = Bun.spawnSync([process.execPath, script]);
  if (child.exitCode !== 0) throw new Error(child.stderr.toString());
  return JSON.parse(child.stdout.toString()) as Notices;
}

/** The notices as one text, for the terminal and for a file beside the executable. */
export function formatNotices({ runtime, packages }: Notices): string {
  return [
    `This program contains the Bun runtime and ${packages.length} third-party packages:`,
    [runtime, ...packages].map((notice) => `  ${formatTitle(notice)}`).join("\n"),
    ...[runtime, ...packages].map(
      (notice) => `${"=".repeat(72)}\n${formatTitle(notice)}\n\n${notice.text}`,
    ),
  ].join("\n\n");
}

const formatTitle = ({ name, version, license }: Notice): string =>
  `${name} ${version} (${license})`;
