import { docs } from "./docs-texts.ts";
import type { ReplyKind } from "./document.ts";
import { Prose } from "./prose.tsx";
import { schemaTreeOf, type SchemaNode } from "./schema-tree.ts";

/** All kinds of successful reply, one after the other. */
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
  const root = schemaTreeOf(schema);
  const isStream = type === "application/x-ndjson";
  return (
    <>
      <p class="muted">{isStream ? docs.jsonLines : root.type}</p>
      {root.description !== "" && (
        <p>
          <Prose text={root.description} />
        </p>
      )}
      {root.children.length > 0 && <SchemaNodeList nodes={root.children} />}
    </>
  );
}

const SchemaNodeList = ({ nodes }: { nodes: readonly SchemaNode[] }) => (
  <ul class="parts">
    {nodes.map((node) => (
      <li key={node.name}>
        <code class="name">{node.name}</code> <span class="type">{node.type}</span>
        {node.optional && <span class="muted">{` · ${docs.optional}`}</span>}
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
