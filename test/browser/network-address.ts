import { networkInterfaces } from "node:os";

export const LOOPBACK = "127.0.0.1";

/**
 * An address of this machine in its network, if it has one. For a browser a plain HTTP address
 * outside of the machine is no secure context: it sends no Sec-Fetch headers there.
 */
export const networkAddress = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

/** The reason for skipping a test that needs such an address. */
export const noNetworkAddress =
  networkAddress === undefined ? "this machine has no network address" : null;
