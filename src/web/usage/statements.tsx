import { useSignal } from "@preact/signals";
import type { VendorStatementsReply } from "../../http/routes/statements/statements.ts";
import { admin, unwrapReply } from "../api.ts";
import { formatDate } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { DataTable, type DataColumn } from "../parts/data-table.tsx";
import { FileDrop } from "../parts/file-drop.tsx";
import { Notice } from "../parts/notice.tsx";
import { QueryContent } from "../parts/query-content.tsx";
import { saveText } from "../save.ts";
import { canChange } from "../session.ts";
import { useQuery } from "../use-query.ts";
import { statements as texts } from "./statements-texts.ts";

/** What to send the vendors: statements of use, and the files that confirm them. */
export function Statements() {
  const query = useQuery((signal) => unwrapReply(admin.statements.get({ fetch: { signal } })));
  const message = useSignal("");
  return (
    <section class="card">
      <h3>{texts.title}</h3>
      <p class="hint">{texts.explain}</p>
      {message.value !== "" && <Notice kind="good">{message.value}</Notice>}
      <QueryContent query={query}>
        {(vendors, refresh) => {
          const report = async (text: string): Promise<void> => {
            await refresh();
            message.value = text;
          };
          return (
            <>
              {vendors.length === 0 && <p class="muted">{texts.noVendor}</p>}
              {vendors.map((vendor) => (
                <Vendor key={vendor.vendor} vendor={vendor} onChange={report} />
              ))}
              {canChange.value && vendors.some(({ statements }) => statements.length > 0) && (
                <Acknowledgement onChange={report} />
              )}
            </>
          );
        }}
      </QueryContent>
    </section>
  );
}

interface VendorProps {
  readonly vendor: VendorStatementsReply;
  /** Says what was done. */
  readonly onChange: (message: string) => Promise<void>;
}

function Vendor({ vendor, onChange }: VendorProps) {
  const name = vendor.name ?? vendor.vendor;
  const make = async (): Promise<void> => {
    const statement = await unwrapReply(admin.statements.post({ vendor: vendor.vendor }));
    saveStatement(name, statement.number, statement.document);
    await onChange(texts.saved(statement.number, name));
  };
  return (
    <div class="vendor-statements">
      <h4>{name}</h4>
      <p class={vendor.is_due ? "warn" : ""}>{describeStatus(vendor)}</p>
      {canChange.value && vendor.unreported_days > 0 && (
        <Button label={texts.makeLabel(name)} onClick={make}>
          {texts.make}
        </Button>
      )}
      {vendor.statements.length > 0 && (
        <DataTable
          name={texts.list(name)}
          columns={COLUMNS}
          rows={vendor.statements}
          keyOf={({ number }) => String(number)}
          empty={texts.none}
          actions={({ number }) => (
            <Button
              label={texts.downloadLabel(number, name)}
              onClick={() => download(vendor.vendor, name, number)}
            >
              {texts.download}
            </Button>
          )}
        />
      )}
    </div>
  );
}

function describeStatus(vendor: VendorStatementsReply): string {
  const { unreported_days: days, next_from: from, report_every_days: every, is_due } = vendor;
  const rest =
    from === null
      ? texts.noLicense
      : days === 0
        ? texts.upToDate
        : texts.unreported(days, formatDate(from));
  if (every === null) return rest;
  return `${rest} ${is_due ? texts.isDue(every) : texts.wants(every)}`;
}

type Statement = VendorStatementsReply["statements"][number];

const COLUMNS: readonly DataColumn<Statement>[] = [
  {
    title: texts.columns.number,
    value: ({ number }) => number,
    show: ({ number }) => texts.number(number),
  },
  { title: texts.columns.from, value: ({ from }) => from, show: ({ from }) => formatDate(from) },
  {
    title: texts.columns.until,
    value: ({ until }) => until,
    show: ({ until }) => formatDate(until),
  },
  {
    title: texts.columns.state,
    value: ({ is_acknowledged }) =>
      is_acknowledged ? texts.states.acknowledged : texts.states.open,
  },
];

async function download(vendor: string, name: string, number: number): Promise<void> {
  const query = { vendor, number: String(number) };
  const { document } = await unwrapReply(admin.statements.document.get({ query }));
  saveStatement(name, number, document);
}

const saveStatement = (name: string, number: number, text: string): void =>
  saveText(text, texts.fileName(name, number));

/** A file that is dropped anywhere on this view is taken as the vendor's answer. */
const Acknowledgement = ({ onChange }: Pick<VendorProps, "onChange">) => (
  <>
    <h4>{texts.acknowledge}</h4>
    <FileDrop
      fileDescription={texts.acknowledgeFile}
      takes={["ack"]}
      onText={async (text) => {
        const reply = await unwrapReply(admin.statements.acknowledge.post({ license: text }));
        await onChange(
          reply.is_new
            ? texts.acknowledged(reply.number)
            : texts.known(reply.number, reply.acknowledged_number),
        );
      }}
    />
  </>
);
