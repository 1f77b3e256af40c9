// The same forgeries through the routes of the real binary, in every format a document may be sent
// in.
import { endAttack, type AfterAttack } from "./after-attack.ts";
import { FORGERY_TRICKS, type Forger, type GenuineDocument } from "./forgeries.ts";
import { findAnswerProblem, refusalCode } from "./answer-check.ts";
import { startTarget, type AttackTarget } from "./target.ts";
import { RawConnection } from "./raw-connection.ts";

const CONNECTIONS = 8;

interface Route {
  readonly path: string;
  readonly genuine: GenuineDocument;
  readonly makeFields: (document: string) => object;
}

function makeRoutes({ documents }: AttackTarget): Route[] {
  const signer = documents.vendor.issuing.key;
  const asLicense = (license: string): object => ({ license });
  return [
    {
      path: "/api/v4/license/upload",
      genuine: { kind: "license", document: documents.license, signer },
      makeFields: asLicense,
    },
    {
      path: "/api/admin/v1/trust/add",
      genuine: { kind: "trust", document: documents.trust, signer: documents.vendor.vendor.jwk },
      makeFields: asLicense,
    },
    {
      path: "/api/admin/v1/clock/repair",
      genuine: { kind: "time", document: documents.timeAnswer, signer },
      makeFields: asLicense,
    },
    {
      path: "/api/admin/v1/statements/acknowledge",
      genuine: { kind: "ack", document: documents.acknowledgement, signer },
      makeFields: asLicense,
    },
    {
      path: "/api/v4/airgap/license",
      genuine: { kind: "policy", document: documents.airgap.license_policy, signer },
      makeFields: (license_policy) => ({ ...documents.airgap, license_policy }),
    },
  ];
}

/** Format 0 is JSON, 1 is text, 2 is a multipart form. */
function encodeUpload(
  target: AttackTarget,
  route: Route,
  document: string,
  format: number,
): Buffer {
  const isUpload = !route.path.endsWith("airgap/license");
  const boundary = "xxxx";
  const [type, body] =
    isUpload && format === 1
      ? ["text/plain", document]
      : isUpload && format === 2
        ? [
            `multipart/form-data; boundary=${boundary}`,
            `--${boundary}\r\nContent-Disposition: form-data; name="f"; filename="../../x"\r\n\r\n` +
              `${document}\r\n--${boundary}--\r\n`,
          ]
        : ["application/json", JSON.stringify(route.makeFields(document))];
  const bytes = Buffer.from(body);
  const head =
    `POST ${route.path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${target.token}\r\n` +
    `Content-Type: ${type}\r\nContent-Length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
}

/** Licenses, trusted vendors and the length of the audit log, as the admin API shows them. */
async function readState({ server, token }: AttackTarget): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  const get = async (name: string): Promise<unknown> =>
    (await fetch(`${server.url}/api/admin/v1/${name}`, { headers })).json();
  const { storage } = (await get("status")) as { storage: { audit_seq: number } };
  return JSON.stringify([await get("licenses"), await get("trust"), storage.audit_seq]);
}

export interface UploadOutcome {
  readonly sent: number;
  readonly problems: readonly string[];
  /** How often each code was the reason of a refusal. */
  readonly codes: ReadonlyMap<string, number>;
  readonly stateBefore: string;
  readonly stateAfter: string;
  readonly after: AfterAttack;
}

export async function uploadForgeries(
  root: string,
  count: number,
  forger: Forger,
): Promise<UploadOutcome> {
  const target = await startTarget(root);
  const routes = makeRoutes(target);
  const genuine = new Set(routes.map((route) => route.genuine.document));
  const stateBefore = await readState(target);
  const problems: string[] = [];
  const codes = new Map<string, number>();
  let sent = 0;
  const run = async (): Promise<void> => {
    const connection = new RawConnection(target.port);
    while (sent < count && problems.length < 5) {
      sent += 1;
      const route = routes[sent % routes.length] as Route;
      const names = Object.keys(FORGERY_TRICKS);
      const name = names[Math.floor(forger.random() * names.length)] ?? "";
      const forged = (await FORGERY_TRICKS[name]?.(route.genuine, forger)) ?? "";
      if (genuine.has(forged.trim())) continue;
      const format = Math.floor(forger.random() * 3);
      const answer = await connection.send(encodeUpload(target, route, forged, format));
      const problem = findAnswerProblem({ method: "POST", mustRefuse: true }, answer);
      const code = answer === null ? "none" : refusalCode(answer);
      codes.set(code, (codes.get(code) ?? 0) + 1);
      if (problem !== null)
        problems.push(`${route.path} ${name} ${problem}: ${forged.slice(0, 900)}`);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, run));
  const stateAfter = await readState(target);
  return { sent, problems, codes, stateBefore, stateAfter, after: await endAttack(target) };
}
