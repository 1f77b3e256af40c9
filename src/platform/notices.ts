import { join } from "node:path";

/** Somebody else's work inside the executable, and the terms it came under. */
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

/** JSON, set by the build of what it bundled; not there when run from the sources. */
declare const BERTH_NOTICES: string | undefined;

/** From the sources they are made as the build would make them. */
export function readNotices(): Notices {
  if (typeof BERTH_NOTICES === "string") return JSON.parse(BERTH_NOTICES) as Notices;
  const maker = join(import.meta.dir, "..", "..", "build", "notices.ts");
  const made = Bun.spawnSync([process.execPath, maker]);
  if (made.exitCode !== 0) throw new Error(made.stderr.toString());
  return JSON.parse(made.stdout.toString()) as Notices;
}

/** One text, for people to read and for a file beside the executable. */
export function formatNotices({ runtime, packages }: Notices): string {
  return [
    `This program contains the Bun runtime and ${packages.length} third-party packages:`,
    [runtime, ...packages].map((one) => `  ${formatTitle(one)}`).join("\n"),
    ...[runtime, ...packages].map((one) => `${"=".repeat(72)}\n${formatTitle(one)}\n\n${one.text}`),
  ].join("\n\n");
}

const formatTitle = ({ name, version, license }: Notice): string =>
  `${name} ${version} (${license})`;
