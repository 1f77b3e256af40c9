import type { DataFolderKind } from "../domain/state.ts";

/**
 * A site is served only where its lock, the modes of its files and the sync of its folders are
 * tried by breaking them. A demo promises less, but needs the lock and the modes.
 */
const SUPPORTED_PLATFORMS: Readonly<Record<DataFolderKind, readonly NodeJS.Platform[]>> = {
  site: ["linux"],
  demo: ["linux", "darwin"],
};

export const canServe = (kind: DataFolderKind, platform: NodeJS.Platform): boolean =>
  SUPPORTED_PLATFORMS[kind].includes(platform);
