/** Lets the browser save a text as a file. */
export const saveText = (text: string, name: string, type = "text/plain"): void =>
  saveBlob(new Blob([text], { type }), name);

/** Saves a reply under the file name that the server gave, and returns that name. */
export async function saveResponse(response: Response, fallbackName: string): Promise<string> {
  const disposition = response.headers.get("content-disposition") ?? "";
  const name = /filename="([^"/\\]+)"/.exec(disposition)?.[1] ?? fallbackName;
  saveBlob(await response.blob(), name);
  return name;
}

function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // Not immediately: the browser starts to read the blob a little later.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
