import { docs } from "../texts/docs.ts";
import type { ReplyKind } from "./document.ts";
import { Prose } from "./prose.tsx";
import { schemaTreeOf, type SchemaNode } from "./schema-tree.ts";

/** What a success looks like; where it can look different ways, one after the other. */
export function Replies({ replies }: { replies: readonly ReplyKind[] }) {
  if (replies.length === 0) return <p>{docs.empty}</p>;
  return (
    <>
      {replies.map((kind, index) => (
        <Reply key={index} reply={kind} />
      ))}
    </>
  );
}

function Reply({ reply: { type, schema } }: { reply: ReplyKind }) {
  const [word, ...otherWords] = schema.enum ?? [];
  if (word !== undefined && otherWords.length === 0) return <p>{docs.plainTextReply(word)}</p>;
  if (schema.format === "binary") return <p>{docs.fileReply(type)}</p>;
  const whole = schemaTreeOf(schema);
  const isStream = type === "application/x-ndjson";
  return (
    <>
      <p class="quiet">{isStream ? docs.jsonLines : whole.type}</p>
      {whole.description !== "" && (
        <p>
          <Prose text={whole.description} />
        </p>
      )}
      {whole.children.length > 0 && <SchemaNodeList nodes={whole.children} />}
    </>
  );
}

const SchemaNodeList = ({ nodes }: { nodes: readonly SchemaNode[] }) => (
  <ul class="parts">
    {nodes.map((node) => (
      <li key={node.name}>
        <code class="name">{node.name}</code> <span class="type">{node.type}</span>
        {node.optional && <span class="quiet">{` · ${docs.optional}`}</span>}
        {node.description !== "" && (
          <p>
            <Prose text={node.description} />
          </p>
        )}
        {node.children.length > 0 && (
          <details>
            <summary>{docs.parts(node.name)}</summary>
            <SchemaNodeList nodes={node.children} />
          </details>
        )}
      </li>
    ))}
  </ul>
);
