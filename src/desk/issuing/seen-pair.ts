import type { RequestPairDocument } from "../../license/requests/request.ts";
import type { SeenPair } from "../ledger/ledger-entries.ts";

/** The part of a request's pair that the ledger keeps. */
export const buildSeenPair = ({ log, epoch, leader, hosts }: RequestPairDocument): SeenPair => ({
  log,
  epoch,
  leader,
  hosts: hosts.map(({ name, hardware_id, head }) => ({ name, hardware_id, head })),
});
