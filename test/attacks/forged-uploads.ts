// The same forgeries through the routes of the real binary, in every form a document may be sent.
import { check, seed } from "../support/suite-harness.ts";
import { checkAfterAttack } from "./after-attack.ts";
import { FORGERY_TRICKS, type GenuineDocument } from "./forgeries.ts";
import { findAnswerProblem, refusalCode } from "./answer-check.ts";
import { startTarget, type AttackTarget } from "./target.ts";
import { RawConnection } from "./raw-connection.ts";

const CONNECTIONS = 8;

interface Route {
  readonly path: string;
  readonly genuine: GenuineDocument;
  readonly fieldsOf: (document: string) => object;
}

function routesOf({ documents }: AttackTarget): Route[] {
  const signer = documents.vendor.key;
  const asLicense = (license: string): object => ({ license });
  return [
    {
      path: "/api/v4/license/upload",
      genuine: { kind: "license", document: documents.license, signer },
      fieldsOf: asLicense,
    },
    {
      path: "/api/admin/v1/trust/add",
      genuine: { kind: "trust", document: documents.trust, signer },
      fieldsOf: asLicense,
    },
    {
      path: "/api/admin/v1/clock/repair",
      genuine: { kind: "time", document: documents.timeAnswer, signer },
      fieldsOf: asLicense,
    },
    {
      path: "/api/v4/airgap/license",
      genuine: { kind: "policy", document: documents.airgap.license_policy, signer },
      fieldsOf: (license_policy) => ({ ...documents.airgap, license_policy }),
    },
  ];
}

/** As JSON, as text, as a form. */
function written(target: AttackTarget, route: Route, document: string, form: number): Buffer {
  const isUpload = !route.path.endsWith("airgap/license");
  const boundary = "xxxx";
  const [type, body] =
    isUpload && form === 1
      ? ["text/plain", document]
      : isUpload && form === 2
        ? [
            `multipart/form-data; boundary=${boundary}`,
            `--${boundary}\r\nContent-Disposition: form-data; name="f"; filename="../../x"\r\n\r\n` +
              `${document}\r\n--${boundary}--\r\n`,
          ]
        : ["application/json", JSON.stringify(route.fieldsOf(document))];
  const bytes = Buffer.from(body);
  const head =
    `POST ${route.path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${target.token}\r\n` +
    `Content-Type: ${type}\r\nContent-Length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
}

/** What an operator would see of it: licenses, vendors, and how much was ever written. */
async function stateOf({ server, token }: AttackTarget): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  const get = async (name: string): Promise<unknown> =>
    (await fetch(`${server.url}/api/admin/v1/${name}`, { headers })).json();
  const { storage } = (await get("status")) as { storage: { audit_seq: number } };
  return JSON.stringify([await get("licenses"), await get("trust"), storage.audit_seq]);
}

export async function uploadForgeries(
  root: string,
  count: number,
  forger: Parameters<(typeof FORGERY_TRICKS)[string]>[1],
): Promise<void> {
  const target = await startTarget(root);
  const routes = routesOf(target);
  const genuine = new Set(routes.map((route) => route.genuine.document));
  const before = await stateOf(target);
  const broken: string[] = [];
  const codes = new Map<string, number>();
  let sent = 0;
  const run = async (): Promise<void> => {
    const wire = new RawConnection(target.port);
    while (sent < count && broken.length < 5) {
      sent += 1;
      const route = routes[sent % routes.length] as Route;
      const names = Object.keys(FORGERY_TRICKS);
      const name = names[Math.floor(forger.random() * names.length)] ?? "";
      const forged = (await FORGERY_TRICKS[name]?.(route.genuine, forger)) ?? "";
      if (genuine.has(forged.trim())) continue;
      const form = Math.floor(forger.random() * 3);
      const answer = await wire.send(written(target, route, forged, form));
      const complaint = findAnswerProblem({ method: "POST", mustRefuse: true }, answer);
      const code = answer === null ? "none" : refusalCode(answer);
      codes.set(code, (codes.get(code) ?? 0) + 1);
      if (complaint !== null)
        broken.push(`${route.path} ${name} ${complaint}: ${forged.slice(0, 900)}`);
    }
    wire.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, run));
  const told = [...codes].map(([code, times]) => `${code} ${times}`).join(", ");
  check(
    `${sent} through the binary (seed ${seed}), each refused in its form: ${told}`,
    broken.length === 0,
    broken,
  );
  check("licenses, vendors and record are as before", (await stateOf(target)) === before);
  check("the server is alive", target.isAlive());
  await checkAfterAttack(target);
}
