import { wrongDocument } from "./add-license-texts.ts";
import type { DroppedKind } from "./dropped-file.ts";

/** A file that is dropped where no place for it is on the screen. */
export const pageDrop = {
  drop: "Drop the file: it is recognized by its content",
  title: "Dropped file",
  close: "Close",
  signIn: "Sign in first, then drop the file again. Nothing was read or sent.",
  viewer: "You are signed in as a viewer: ask an administrator to install the file.",
  onlyOne: "Drop one file at a time.",
  checking: "The file says this about itself; the server verifies it when it is installed:",
  installTitle: (product: string) => `Install the license for ${product}?`,
  install: "Install",
  product: "Product",
  slots: "Slots",
  until: "Until",
  noExpiry: "no expiry",
  changed: (from: string, to: string) => (from === to ? to : `${from} → ${to}`),
  isNew: "This is a new license for this server.",
  isRenewal: "It replaces the installed license; users keep their slots.",
  trustTitle: "A vendor’s trust file",
  clockTitle: "Set the server’s time back?",
  clockText:
    "This is a vendor’s time document. It sets the server’s time back to the vendor’s time.",
  clockAct: "Set the time back",
  clockDone: "The server’s time was set back.",
  acknowledged: (number: number, isNew: boolean) =>
    isNew
      ? `The vendor acknowledged usage statement ${number}.`
      : `Nothing changed: usage statement ${number}, or a newer one, was acknowledged before.`,
  openAirGap: "Activate by phone",
} as const;

/** What each kind of file is, and what to do with it, where it cannot be used by a drop. */
export const droppedKinds: Readonly<
  Record<Exclude<DroppedKind, "license" | "trust" | "time" | "ack" | "qr" | "text">, string>
> = {
  ...wrongDocument,
  backup:
    "This is a backup of a data folder, or a move file. It cannot be restored from this page: stop the server and use the command below on the machine.",
  "desk-backup":
    "This is the backup of a vendor’s desk. It is restored with “berth vendor restore” at the vendor.",
  key: "This is a private key. It must not leave the machine that it belongs to. Nothing was sent.",
  "too-large": "This file was not recognized: it is larger than any license document.",
  folder: "This is a folder or cannot be read. Drop a single file.",
  other: "This file was not recognized: it is no document of Berth.",
};
