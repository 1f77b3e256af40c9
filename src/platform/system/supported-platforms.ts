import type { DataFolderKind } from "../../domain/model/state.ts";

/**
 * A site is served only on platforms where fault injection tests cover the lock, file modes and
 * folder syncs. A demo promises less, but needs the lock and the modes.
 */
const SUPPORTED_PLATFORMS: Readonly<Record<DataFolderKind, readonly NodeJS.Platform[]>> = {
  site: ["linux"],
  demo: ["linux", "darwin"],
};

export const canServe = (kind: DataFolderKind, platform: NodeJS.Platform): boolean =>
  SUPPORTED_PLATFORMS[kind].includes(platform);
