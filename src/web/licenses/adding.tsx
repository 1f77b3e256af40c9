import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { VendorReply } from "../../http/routes/trust.ts";
import { FileDrop } from "../parts/file-drop.tsx";
import { Notice } from "../parts/notice.tsx";
import { linkTo } from "../router.ts";
import { adding, remedies } from "../texts/adding.ts";
import { terms } from "../texts/terms.ts";
import { trust } from "../texts/trust.ts";
import type { Offered } from "../trust/offered.ts";
import { TrustOffer } from "../trust/trust-offer.tsx";
import { readKnown } from "./known.ts";
import type { License } from "./license.ts";
import { takeIn, type Outcome } from "./take-in.ts";
import { validityOf } from "./terms.ts";

interface Props {
  /** What is wanted, in a word or two. */
  readonly what: string;
  readonly onInstalled?: () => void;
}

/** Takes in whatever a vendor sent, and says what came of it. */
export function Adding({ what, onInstalled }: Props) {
  const outcome = useSignal<Outcome | null>(null);
  /** A license whose vendor was not trusted yet. */
  const waiting = useSignal<string | null>(null);
  const take = async (text: string): Promise<void> => {
    const came = await takeIn(text);
    outcome.value = came;
    const untrusted = came.kind === "refused" && came.code === "untrusted_vendor";
    if (came.kind === "new" || came.kind === "renewed") onInstalled?.();
    if (came.kind !== "trust") waiting.value = untrusted ? text : null;
  };
  const trusted = async (vendor: VendorReply): Promise<void> => {
    await readKnown();
    outcome.value = { kind: "trusted", vendor };
    if (waiting.value !== null) void take(waiting.value);
  };
  const { value: came } = outcome;
  if (came?.kind === "trust") {
    const cancel = (): void => {
      outcome.value = null;
    };
    return <TrustOffer offered={came} onTrusted={trusted} onCancel={cancel} />;
  }
  return (
    <>
      <FileDrop what={what} onText={take} />
      {came !== null && (
        <InSight key={came}>
          <Came outcome={came} />
        </InSight>
      )}
    </>
  );
}

/** What was dropped on a long page may have its answer below the edge of the screen. */
function InSight({ children }: { children: ComponentChildren }) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => ref.current?.scrollIntoView({ block: "nearest" }), []);
  return <div ref={ref}>{children}</div>;
}

/** What came of it, and what to do next. */
export function Came({ outcome }: { outcome: Exclude<Outcome, Offered> }) {
  switch (outcome.kind) {
    case "new":
      return (
        <Installed title={adding.installed(nameOf(outcome.license))} license={outcome.license} />
      );
    case "same":
      return (
        <Notice kind="note" title={adding.same(nameOf(outcome.license))}>
          {adding.sameText}
        </Notice>
      );
    case "renewed":
      return (
        <Installed title={adding.renewed(nameOf(outcome.license))} license={outcome.license}>
          {outcome.changes}
        </Installed>
      );
    case "trusted":
      return <Notice kind="good">{trust.accepted(outcome.vendor.name)}</Notice>;
    case "misplaced":
      return <Notice kind="warn">{outcome.message}</Notice>;
    default:
      return <NotAccepted code={outcome.code} message={outcome.message} />;
  }
}

const nameOf = ({ product_details: product }: License): string => product.product_name;

interface InstalledProps {
  readonly title: string;
  readonly license: License;
  /** What a renewal changed; nothing given: there was nothing before it. */
  readonly children?: readonly string[];
}

function Installed({ title, license, children: changes }: InstalledProps) {
  const told = changes ?? [
    adding.installedText(terms.slots(license.floating_users), validityOf(license)),
  ];
  return (
    <Notice kind={license.is_expired ? "warn" : "good"} title={title}>
      {told.length === 0 ? <p>{adding.unchanged}</p> : told.map((line) => <p key={line}>{line}</p>)}
      {license.is_expired && <p>{adding.ended}</p>}
      <a href={linkTo("licenses", String(license.id))}>{adding.look}</a>
    </Notice>
  );
}

/** Where the way on is a new request. */
const ASK_ANEW = new Set(["hardware_mismatch", "request_unknown", "request_used", "stale_license"]);

function NotAccepted({ code, message }: { code: string; message: string }) {
  const remedy = remedies[code];
  return (
    <Notice kind="bad" title={adding.refused}>
      <p>{message}</p>
      {remedy !== undefined && (
        <p>
          <strong>{adding.next}: </strong>
          {remedy}
        </p>
      )}
      {code === "untrusted_vendor" && <p>{adding.waiting}</p>}
      {ASK_ANEW.has(code) && <a href={linkTo("licenses", "request")}>{adding.ask}</a>}
    </Notice>
  );
}
