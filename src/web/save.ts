/** Hands a text to the browser as a file. */
export const saveText = (text: string, name: string, type = "text/plain"): void =>
  saveBlob(new Blob([text], { type }), name);

/** The same with a reply of the server, under the name it gave; returns that name. */
export async function saveResponse(response: Response, otherwise: string): Promise<string> {
  const said = response.headers.get("content-disposition") ?? "";
  const name = /filename="([^"/\\]+)"/.exec(said)?.[1] ?? otherwise;
  saveBlob(await response.blob(), name);
  return name;
}

function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // Not at once: the browser begins to read it a little later.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
