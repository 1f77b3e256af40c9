import { hostname, userInfo } from "node:os";

/** The account and the machine on which this program runs, as `ada@office`. */
export const accountName = (): string => `${userName()}@${hostname()}`;

function userName(): string {
  try {
    const { username } = userInfo();
    if (username !== "unknown") return username;
  } catch {
    // An account without a name, for example in a container.
  }
  return `uid ${process.getuid?.() ?? "unknown"}`;
}
