import manifest from "../package.json";

/** A system that executables are built for, and the npm package of its runtime. */
export interface Target {
  readonly name: string;
  readonly runtime: Bun.Build.CompileTarget;
  readonly package: string;
  /** Hash of the package in the npm registry; a package from a mirror must have the same. */
  readonly integrity: string;
}

/** Version of the runtime in every executable, and of its packages below. */
export const BUN_VERSION: string = manifest.engines.bun;

export const TARGETS: readonly Target[] = [
  {
    name: "linux-x64",
    runtime: "bun-linux-x64",
    package: "@oven/bun-linux-x64",
    integrity:
      "sha512-CHbbkmHVM28T1GFq+6GL4Ao4ujwwYwj1CxFFwEFzLanPfNsId9AhbIP0Q4reWuWBkGimUkoQygrK7Rgjtj3vog==",
  },
  {
    name: "linux-arm64",
    runtime: "bun-linux-arm64",
    package: "@oven/bun-linux-aarch64",
    integrity:
      "sha512-ZTVtpf9zmHSBVPX1sBwe5agGb/rN34yPGg/Hby8e2Ax2uCUA2URZKlZH7qLntK7qaFJCMXh9v0GWNYN2zINz1w==",
  },
  {
    name: "linux-x64-musl",
    runtime: "bun-linux-x64-musl",
    package: "@oven/bun-linux-x64-musl",
    integrity:
      "sha512-lEEjNOJJrbGZu2NVcPI4uXdILcpspezWkA8R/Jr0RCGhM6zQd0Y7JBIIKNAmbX59EeWpeEz7Q78iLbpcAUypUA==",
  },
  {
    name: "linux-arm64-musl",
    runtime: "bun-linux-arm64-musl",
    package: "@oven/bun-linux-aarch64-musl",
    integrity:
      "sha512-QFd0P+mHJxbZFbUla4MgiE5OwxysHaUIYxL2pPNkpWtaI7v4ShOpr8OhBmsuyB0xn5rv/ZJnPsj2y8+bB9+g/A==",
  },
  {
    name: "windows-x64",
    runtime: "bun-windows-x64",
    package: "@oven/bun-windows-x64",
    integrity:
      "sha512-a3LNctBVO8PjePsFZfwDleF2JXYf2BfQ1u/PLRnBDLnC2Riml+4+LgJpKj4xRGhB92KweGyQI5PXaTkP9qypMQ==",
  },
  {
    name: "darwin-arm64",
    runtime: "bun-darwin-arm64",
    package: "@oven/bun-darwin-aarch64",
    integrity:
      "sha512-zW/hxwc8sJAILGwB5eTC4i48ouGXf0V4lrxmEOk3JIE6JkYVW1TZh1E2pIempqsezgW1sckTIIDudFON8bJ2Mw==",
  },
];

/** File name suffix of an executable on the target system. */
export const executableSuffix = ({ name }: Target): string =>
  name.startsWith("windows-") ? ".exe" : "";
