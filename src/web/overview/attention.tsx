import { describeEnd, isEndingSoon } from "../../domain/licenses/end-date.ts";
import { instant } from "../../domain/time.ts";
import type { StatusReply } from "../../http/reply/status.ts";
import { formatDate } from "../format.ts";
import { linkTo } from "../router.ts";
import { overview } from "./overview-texts.ts";
import { reasonOf } from "../parts/refusal-reason.ts";

interface AttentionItem {
  readonly kind: "note" | "warn" | "bad";
  readonly text: string;
  readonly link?: { readonly href: string; readonly text: string };
}

/** Everything that needs attention, the most severe first. */
export function Attention({ status }: { status: StatusReply }) {
  const items = attentionItemsOf(status);
  if (items.length === 0) return <p class="no-attention">{overview.noAttention}</p>;
  return (
    <section class="attention" aria-label={overview.attention}>
      <ul>
        {items.map(({ kind, text, link }) => (
          <li key={text} class={kind}>
            {text} {link && <a href={link.href}>{link.text}</a>}
          </li>
        ))}
      </ul>
    </section>
  );
}

const SEVERITY_ORDER = ["bad", "warn", "note"];

function attentionItemsOf(status: StatusReply): AttentionItem[] {
  const { storage, licenses } = status;
  const items: AttentionItem[] = [
    ...(storage.fault === null
      ? []
      : [{ kind: "bad" as const, text: overview.diskFaults[storage.fault] ?? storage.fault }]),
    ...storage.warnings.map(({ message }) => ({ kind: "warn" as const, text: message })),
    ...licenses.flatMap((license) => licenseItemsOf(license, status.now)),
  ];
  return items.toSorted((a, b) => SEVERITY_ORDER.indexOf(a.kind) - SEVERITY_ORDER.indexOf(b.kind));
}

function licenseItemsOf(license: StatusReply["licenses"][number], now: string): AttentionItem[] {
  const { product, refusal, validity_period: end, moved_until, hardware_drift } = license;
  const renew = { href: linkTo("licenses", "request", product), text: overview.renew };
  if (refusal !== null) {
    return [{ kind: "bad", text: overview.refusal(product, reasonOf(refusal)), link: renew }];
  }
  const items: AttentionItem[] = [];
  if (moved_until !== null) {
    items.push({
      kind: "warn",
      text: overview.moved(product, formatDate(moved_until)),
      link: renew,
    });
  } else if (hardware_drift.length > 0) {
    const text = overview.drift(product, hardware_drift.join(", "));
    items.push({ kind: "warn", text, link: renew });
  }
  const [endsAt, at] = [instant(Date.parse(end ?? "")), instant(Date.parse(now))];
  if (end !== null && isEndingSoon(endsAt, at)) {
    const text = overview.expires(product, describeEnd(endsAt, at));
    items.push({ kind: "warn", text, link: renew });
  }
  if (license.floating_users > 0 && license.floating_slots_in_use >= license.floating_users) {
    const viewHolders = { href: linkTo("slots", product), text: overview.viewHolders };
    items.push({ kind: "note", text: overview.atLimit(product), link: viewHolders });
  }
  return items;
}
