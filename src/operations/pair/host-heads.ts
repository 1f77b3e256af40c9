import { instant, type Instant } from "../../domain/time.ts";
import type { HostHeadReader } from "../licenses/licensing.ts";
import type { Leadership } from "./leadership.ts";

/** Where the journals of the hosts end: of this host now, of the other one as it last reported. */
export const createHostHeadReader =
  (leadership: Pick<Leadership, "status"> | null, now: () => Instant): HostHeadReader =>
  ({ seq, sum }) => {
    if (leadership === null) return [];
    const { host, hosts } = leadership.status();
    const others = hosts.filter((row) => row.host !== host);
    return [
      { host, seq, sum, at: now() },
      ...others.map(({ host: name, head, ageMs }) => ({
        host: name,
        seq: head.seq,
        sum: head.sum,
        at: instant(now() - ageMs),
      })),
    ];
  };
