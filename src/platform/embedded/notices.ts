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

/** JSON of the notices. The build sets it; run from the sources, a preloaded script does. */
declare const BERTH_NOTICES: string | undefined;

export function readNotices(): Notices {
  if (typeof BERTH_NOTICES !== "string")
    throw new Error("the notices are missing: run the sources in their own folder");
  return JSON.parse(BERTH_NOTICES) as Notices;
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
