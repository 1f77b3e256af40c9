/** The page at `/`, with nothing in it from anywhere else. */
export const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Berth</title>
  </head>
  <body>
    <main>
      <h1>Berth</h1>
      <p>This license server is running.</p>
      <p>
        Applications call it under <code>/api/v4</code>; <code>/api/v4/openapi.json</code> describes
        every call.
      </p>
      <p>
        On the machine itself, <code>berth status</code> shows licenses and slots,
        <code>berth slots</code> who holds them, and <code>berth release</code> frees one.
      </p>
    </main>
  </body>
</html>
`;
