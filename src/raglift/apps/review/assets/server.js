// Talking to the server. Nothing counts as done before the server says so.

class Gone extends Error {}
class Refused extends Error {
  constructor(status, content) {
    super(content.error ?? `the server answered ${status}`);
    this.status = status;
    this.content = content;
  }
}

async function ask(path, body) {
  let response, content;
  try {
    response = await fetch(path, body === undefined
      ? { cache: "no-store" }
      : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    content = await response.json();
  } catch {
    throw new Gone("the server does not answer");
  }
  if (!response.ok) throw new Refused(response.status, content);
  return content;
}
