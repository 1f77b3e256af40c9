import { useSignal } from "@preact/signals";
import { bytes as size } from "../format.ts";
import { Notice } from "../parts/notice.tsx";
import { token } from "../session.ts";
import { docs } from "../texts/docs.ts";
import { readable, type Answer } from "./answer.ts";
import { Curl } from "./curl-view.tsx";
import type { Refusal } from "./document.ts";

interface Props {
  readonly answer: Answer;
  /** What sends the same from a terminal. */
  readonly line: string;
}

export function AnswerView({ answer, line }: Props) {
  const { status, headers, type, bytes, isCut } = answer;
  const text = readable(answer);
  const said = status >= 400 && text !== null ? refusalIn(text) : null;
  return (
    <div class="answer">
      {said !== null && (
        <Notice kind="bad" title={said.code}>
          {said.message}
        </Notice>
      )}
      {isCut && <Notice kind="note">{docs.tryIt.cut}</Notice>}
      {text === "" && <p>{docs.tryIt.noBody}</p>}
      {text === null && <p>{docs.tryIt.binary(size(bytes.length), type)}</p>}
      {text !== null && text !== "" && (
        <pre class="body" tabIndex={0}>
          <code>{text}</code>
        </pre>
      )}
      {text !== null && <UseToken text={text} />}
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
      <p class="sent">{docs.tryIt.sent}</p>
      <Curl line={line} />
    </div>
  );
}

/** A login and a fresh token answer with what the next call needs. */
function UseToken({ text }: { text: string }) {
  const used = useSignal(false);
  const given = fieldsIn(text)["token"];
  if (typeof given !== "string") return null;
  const use = (): void => {
    token.value = given;
    used.value = true;
  };
  return (
    <button type="button" class="button" disabled={used.value} onClick={use}>
      {used.value ? docs.tryIt.used : docs.tryIt.use}
    </button>
  );
}

function refusalIn(text: string): Refusal | null {
  const { status, code, message } = fieldsIn(text);
  if (typeof code !== "string" || typeof message !== "string") return null;
  return { status: Number(status), code, message };
}

function fieldsIn(text: string): Readonly<Record<string, unknown>> {
  try {
    return { ...(JSON.parse(text) as object | null) };
  } catch {
    return {};
  }
}
