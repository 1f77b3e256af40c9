import { useEffect } from "preact/hooks";
import { fetchResponse } from "../api.ts";
import { Notice } from "../parts/notice.tsx";
import { accessState } from "../session.ts";
import { serverStatus, watchStatus } from "../status-stream.ts";
import { standbyTexts } from "./pair-texts.ts";
import { addressAt, standbyNotice, type StandbyNotice } from "./standby.ts";

const CHECK_INTERVAL = 3_000;

/** Stands in place of every view while this host does not lead: what it knows may be outdated. */
export function StandbyView({ notice }: { notice: StandbyNotice }) {
  const { code, leaderUrl } = notice;
  useEffect(() => {
    const timer = setInterval(() => void continueIfLeading(), CHECK_INTERVAL);
    return () => clearInterval(timer);
  }, []);
  const isLogAway = code === "log_unavailable";
  return (
    <>
      <h2>{isLogAway ? standbyTexts.logTitle : standbyTexts.title}</h2>
      <Notice kind={isLogAway ? "bad" : "warn"}>
        <p>{isLogAway ? standbyTexts.logText : standbyTexts.text}</p>
        {leaderUrl !== null && <HostLink url={leaderUrl} isMain />}
        {leaderUrl === null && (isLogAway ? <OtherHost /> : <p>{standbyTexts.noAddress}</p>)}
        <p class="muted">{standbyTexts.again}</p>
      </Notice>
    </>
  );
}

/** A page that is not signed in has no stream that would notice it. */
async function continueIfLeading(): Promise<void> {
  if (accessState.value === "open") return;
  try {
    await fetchResponse("/api/v4/health");
  } catch {
    return;
  }
  standbyNotice.value = null;
  void watchStatus();
}

function HostLink({ url, isMain = false }: { url: string; isMain?: boolean }) {
  return (
    <p>
      <a class={isMain ? "button main" : "button"} href={addressAt(url, location.hash)}>
        {standbyTexts.open(url)}
      </a>
    </p>
  );
}

/** The other host, as the last status had it. */
function findOtherHost(): { readonly name: string; readonly url: string } | null {
  const { pair } = serverStatus.value ?? { pair: null };
  const other = pair?.hosts.find(({ name }) => name !== pair.host);
  return other === undefined || other.url === null ? null : { name: other.name, url: other.url };
}

function OtherHost() {
  const other = findOtherHost();
  if (other === null) return null;
  return (
    <>
      <p>{standbyTexts.otherHost(other.name)}</p>
      <HostLink url={other.url} />
    </>
  );
}

/** While this host cannot be reached: where the other one is. */
export function LostHostNotice() {
  const other = findOtherHost();
  if (other === null) return null;
  return (
    <Notice kind="warn" title={standbyTexts.lostTitle}>
      <p>{standbyTexts.lostText(other.name)}</p>
      <HostLink url={other.url} />
    </Notice>
  );
}

export const standbyTitle = ({ code }: StandbyNotice): string =>
  code === "log_unavailable" ? standbyTexts.logTitle : standbyTexts.title;
