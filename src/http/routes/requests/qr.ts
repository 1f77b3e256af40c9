import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { renderQrCodes, joinQrCodes } from "../../../operations/requests/qr-codes.ts";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { fields } from "../../request/fields.ts";

const QrTextBody = Type.Object({ text: fields.text }, { title: "QrTextBody" });
const QrFramesBody = Type.Object({ frames: fields.frames }, { title: "QrFramesBody" });

const QrReply = Type.Object(
  {
    frames: Type.Array(
      Type.Object({
        text: Type.String({ description: "Text in the QR code." }),
        svg: Type.String({ description: "SVG image of the QR code, without scripts or styles." }),
      }),
    ),
  },
  { title: "QrCodes" },
);

/** QR codes, to transfer texts with a camera. */
export const qr = () =>
  new Elysia({ name: "qr", prefix: "/api/admin/v1/qr" })
    .post(
      "",
      async ({ body: { text } }) => {
        if (text === undefined || text === "") {
          return refuse({ code: "missing_parameters", fields: ["text"] });
        }
        if (!text.isWellFormed()) refuse({ code: "invalid_characters", field: "text" });
        return { frames: unwrap(await renderQrCodes(text)) };
      },
      {
        ...jsonBody(QrTextBody, { large: true }),
        ...describeRoute({
          plane: "admin",
          changesNothing: true,
          id: "createQrCodes",
          summary: "Encode a text as QR codes",
          requiredFields: ["text"],
          reply: QrReply,
          refusals: ["missing_parameters", { code: "too_long", field: "text", bytes: 64 * 1024 }],
        }),
      },
    )
    .post(
      "/join",
      ({ body: { frames } }) => {
        if (frames === undefined || frames.trim() === "") {
          return refuse({ code: "missing_parameters", fields: ["frames"] });
        }
        const { text, foreignLines } = unwrap(joinQrCodes(frames));
        const [line] = foreignLines;
        // The reply has no field for a warning, so no line is ignored here.
        if (line !== undefined) {
          return refuse({ code: "invalid_qr_frames", problem: { wrong: "foreign", at: line } });
        }
        return { text };
      },
      {
        ...jsonBody(QrFramesBody, { large: true }),
        ...describeRoute({
          plane: "admin",
          changesNothing: true,
          id: "joinQrCodes",
          summary: "Join scanned QR codes into a text",
          requiredFields: ["frames"],
          reply: Type.Object({ text: Type.String() }, { title: "QrText" }),
          refusals: ["missing_parameters", "invalid_qr_frames"],
        }),
      },
    );
