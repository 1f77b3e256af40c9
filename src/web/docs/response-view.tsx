import { useSignal } from "@preact/signals";
import { formatBytes as size } from "../format.ts";
import { Notice } from "../parts/notice.tsx";
import { token } from "../session.ts";
import { docs } from "./docs-texts.ts";
import { formatBody, type ApiResponse } from "./api-response.ts";
import { CurlCommand } from "./curl-view.tsx";
import type { Refusal } from "./document.ts";

interface Props {
  readonly response: ApiResponse;
  /** The curl command for the same request. */
  readonly curlCommand: string;
}

export function ResponseView({ response, curlCommand }: Props) {
  const { status, headers, type, bytes, isTruncated } = response;
  const text = formatBody(response);
  const refusal = status >= 400 && text !== null ? parseRefusal(text) : null;
  return (
    <div class="response">
      {refusal !== null && (
        <Notice kind="bad" title={refusal.code}>
          {refusal.message}
        </Notice>
      )}
      {isTruncated && <Notice kind="note">{docs.tryIt.truncated}</Notice>}
      {text === "" && <p>{docs.tryIt.noBody}</p>}
      {text === null && <p>{docs.tryIt.binary(size(bytes.length), type)}</p>}
      {text !== null && text !== "" && (
        <pre class="body" tabIndex={0}>
          <code>{text}</code>
        </pre>
      )}
      {text !== null && <UseTokenButton text={text} />}
      <details>
        <summary>{docs.tryIt.headers}</summary>
        <dl class="headers">
          {headers.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <code>{value}</code>
              </dd>
            </div>
          ))}
        </dl>
      </details>
      <p class="sent-request">{docs.tryIt.sentRequest}</p>
      <CurlCommand command={curlCommand} />
    </div>
  );
}

/** Replies with a token, from a login or a new token, offer it for the next calls. */
function UseTokenButton({ text }: { text: string }) {
  const isUsed = useSignal(false);
  const newToken = parseJsonObject(text)["token"];
  if (typeof newToken !== "string") return null;
  const use = (): void => {
    token.value = newToken;
    isUsed.value = true;
  };
  return (
    <button type="button" class="button" disabled={isUsed.value} onClick={use}>
      {isUsed.value ? docs.tryIt.tokenInUse : docs.tryIt.useToken}
    </button>
  );
}

function parseRefusal(text: string): Refusal | null {
  const { status, code, message } = parseJsonObject(text);
  if (typeof code !== "string" || typeof message !== "string") return null;
  return { status: Number(status), code, message };
}

function parseJsonObject(text: string): Readonly<Record<string, unknown>> {
  try {
    return { ...(JSON.parse(text) as object | null) };
  } catch {
    return {};
  }
}
