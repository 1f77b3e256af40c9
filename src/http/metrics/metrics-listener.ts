import { admit, type Gate } from "../access/gate.ts";
import { WaitingCount } from "../access/waiting-count.ts";
import { withAccessLog, type LogMode } from "../access/access-log.ts";
import type { RouteTable } from "../access/route-table.ts";
import { faultOf, refusalReply } from "../faults.ts";
import { drain, hostNames, SERVER_LIMITS, urlOf, type Listener } from "../server.ts";
import type { AnyFault } from "../../faults/fault-types.ts";
import { log } from "../../platform/log.ts";
import { CONTENT_TYPES, type ExpositionFormat } from "../../platform/metrics/exposition.ts";
import { chooseFormat } from "./choose-format.ts";
import { exposeMetrics, type MetricsSources } from "./server-metrics.ts";

export interface MetricsListenOptions {
  readonly sources: MetricsSources;
  readonly host: string;
  readonly port: number;
  readonly serverNames: readonly string[];
  readonly logMode: LogMode;
}

/** Every address may call it: reading in a loop must not slow down the server. */
const REUSE_MS = 1_000;

const ROUTES: RouteTable = new Map([
  [
    "/metrics",
    {
      GET: {
        pattern: "/metrics",
        plane: "open",
        isPage: false,
        changesState: false,
        allowsViewers: true,
        allowsMetrics: true,
        answersOnStandby: true,
      },
    },
  ],
]);

/** A listener that serves the metrics without a credential, and nothing else. */
export function listenForMetrics(options: MetricsListenOptions): Listener {
  const { sources, host, port, serverNames, logMode } = options;
  const expose = withReuse((format) => exposeMetrics(sources, format));
  let requestServer: Pick<Bun.Server<unknown>, "requestIP"> | null = null;
  const gate: Gate = {
    peerOf: (request) => requestServer?.requestIP(request)?.address ?? null,
    isTrusted: false,
    isTls: false,
    isClient: () => true,
    isAdmin: () => false,
    clientAuth: "open",
    adminOpen: false,
    allowPlain: true,
    serverNames: [...hostNames(), ...serverNames],
    keepOpen: () => () => {},
    waitingCount: new WaitingCount(),
    access: { identify: () => null, isClaimed: () => true, noteUse: () => {} },
  };
  const fetch = withAccessLog(
    (request) => replyWithMetrics(gate, request, expose),
    logMode,
    sources.requestDurations,
  );
  const server = Bun.serve({
    ...SERVER_LIMITS,
    hostname: host,
    port,
    reusePort: false,
    fetch(request, current) {
      requestServer = current;
      return fetch(request);
    },
  });
  return { address: urlOf("http", host, server.port ?? port), stop: () => drain(server) };
}

const HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/**
 * Pages of other sites are refused, as by every listener. An error that is not a fault is a bug:
 * the reply says only that there was one, and the log has the error.
 */
function replyWithMetrics(gate: Gate, request: Request, expose: Expose): Response {
  try {
    admit(gate, ROUTES, request);
    const format = chooseFormat(request.headers.get("accept"));
    return new Response(expose(format), {
      headers: { ...HEADERS, "content-type": CONTENT_TYPES[format], vary: "accept" },
    });
  } catch (error) {
    const fault: AnyFault = faultOf(error) ?? { code: "internal_error" };
    if (fault.code === "internal_error") log.error("internal error", { error });
    const body = refusalReply(fault);
    const allow = fault.code === "method_not_allowed" && { allow: fault.allow.join(", ") };
    return Response.json(body, { status: body.status, headers: { ...HEADERS, ...allow } });
  }
}

type Expose = (format: ExpositionFormat) => string;

/** Gives the same answer for a second. */
function withReuse(expose: Expose): Expose {
  const replies = new Map<ExpositionFormat, { readonly at: number; readonly text: string }>();
  return (format) => {
    const now = performance.now();
    const last = replies.get(format);
    if (last !== undefined && now - last.at < REUSE_MS) return last.text;
    const text = expose(format);
    replies.set(format, { at: now, text });
    return text;
  };
}
